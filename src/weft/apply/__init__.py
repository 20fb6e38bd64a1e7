"""What alignments are for: markup, the user's own tokens, labels, lexicons."""
