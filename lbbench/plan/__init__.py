"""From the words of a command line to settings, and from settings to the objects of a run."""
