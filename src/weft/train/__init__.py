"""One training loop and the stages that run in it."""
