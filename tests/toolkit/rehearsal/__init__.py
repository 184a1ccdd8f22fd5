"""Access patterns run on generated data."""
