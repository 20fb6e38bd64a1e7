"""From scores to links. Nothing in here imports torch."""
