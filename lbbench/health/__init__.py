"""Whether all is well, and how far studies are."""
