"""Live traffic and designs."""
