"""Reports on designs."""
