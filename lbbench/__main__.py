"""`lbbench`, and `python -m lbbench`."""

import sys


def main() -> None:
    """The console script. What a Tab asks for is answered without what the command line takes a while to load."""
    if sys.argv[1:3] == ["completion", "words"]:
        from lbbench.commands.completion import words

        for word in words("".join(sys.argv[3:4])):
            print(word)
    else:
        from lbbench.cli import main as command_line

        command_line()


if __name__ == "__main__":
    main()
