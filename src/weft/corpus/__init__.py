"""The training corpus on disk: prepared from text, packed into rows, linked. Nothing in here imports torch."""
