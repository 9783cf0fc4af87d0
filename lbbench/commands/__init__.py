"""What the command line's commands do: parse, call, print."""
