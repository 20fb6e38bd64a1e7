"""From raw parallel text to packed rows of subword ids. Nothing in here imports torch."""
