"""What asks a method and tells it: the steps of a run, and those who drive them."""
