"""The objectives, each with its domain, its maximum and its sign."""
