"""Measures what encryption costs: a plain data directory, an encrypted one, KMS tables, in turns.

    python -m bench.encryption [--workloads get,put] [--connections 16] [--rounds 5] [--seconds 2]

The KMS tables are in a plain directory. A ratio is the share of the plain tables' throughput.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.servers import Kind, hashrange_command
from bench.shares import parse_arguments, print_shares
from hashrange.server_key import load_server_key


def main() -> None:
    """Measure and print the shares."""
    options = parse_arguments("encryption", __doc__)
    with tempfile.TemporaryDirectory() as directory:
        key = Path(directory) / "key"
        load_server_key(key, may_create=True)
        kinds = [
            _kind("plain"),
            _kind("encrypted directory", "--key-file", str(key)),
            _kind("KMS tables")._replace(seals_tables=True),
        ]
        print_shares(kinds, True, options)


def _kind(name: str, *flags: str) -> Kind:
    plain = hashrange_command()

    def command(port: int, directory: Path | None) -> list[str]:
        return [*plain(port, directory), *flags]

    return Kind(name, lambda: True, lambda: "", command, "fsync")


if __name__ == "__main__":
    main()
