"""What is kept of runs: where their files lie, what is in them, and whether it can be relied on."""
