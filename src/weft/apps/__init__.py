"""What users run."""
