"""lbbench's optimizers in other libraries."""
