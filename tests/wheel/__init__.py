"""The built wheel, installed where nothing else is."""
