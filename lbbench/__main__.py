"""`python -m lbbench`."""

from lbbench.cli import main

main()
