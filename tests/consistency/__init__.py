"""Histories of concurrent clients, and checkers that look for what must never be seen in them."""
