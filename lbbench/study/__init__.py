"""From a command line to traces on disk."""
