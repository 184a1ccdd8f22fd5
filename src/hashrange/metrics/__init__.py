"""Metrics: what is measured, kept on the engine and read back as CloudWatch does."""
