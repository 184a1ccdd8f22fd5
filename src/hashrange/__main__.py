"""Lets `python -m hashrange` do what the `hashrange` command does."""

from __future__ import annotations

from hashrange.cli.main import main

if __name__ == "__main__":
    main()
