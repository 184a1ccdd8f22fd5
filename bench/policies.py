"""Measures what authentication and policies cost: an open server and a guarded one, in turns.

    python -m bench.policies [--workloads get,put] [--connections 16] [--rounds 5] [--seconds 2]

The guarded servers verify signatures. One has the root user, the other a user with a policy of five
statements, one of them with a condition. A ratio is the share of the open server's throughput.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from bench.servers import Kind, hashrange_command
from bench.shares import parse_arguments, print_shares

_OPEN, _SIGNED, _POLICY = "open", "signatures", "signatures and policies"
_KEY, _SECRET = "AKIDBENCH", "a secret of the benchmark"
_ITEMS = ["GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "BatchGetItem"]
_TABLES = "arn:aws:dynamodb:*:*:table/*"
_STATEMENTS = [
    {"Effect": "Allow", "Action": [f"dynamodb:{name}" for name in _ITEMS], "Resource": _TABLES},
    {"Effect": "Allow", "Action": ["dynamodb:*"], "Resource": [_TABLES, f"{_TABLES}/index/*"]},
    {"Effect": "Allow", "Action": "dynamodb:Describe*", "Resource": "*"},
    {
        "Effect": "Deny",
        "Action": ["dynamodb:DeleteTable", "dynamodb:PartiQL*"],
        "Resource": "*",
        "Condition": {"StringNotEquals": {"aws:username": "chief"}},
    },
    {"Effect": "Deny", "Action": "iam:*", "Resource": "*"},
]


def main() -> None:
    """Measure and print one line per workload, number of connections and kind of server."""
    options = parse_arguments("policies", __doc__)
    with tempfile.TemporaryDirectory() as directory:
        kinds = [
            Kind(_OPEN, lambda: True, lambda: "", hashrange_command(), "fsync"),
            _guarded(_SIGNED, Path(directory) / "signed.toml", ""),
            _guarded(_POLICY, Path(directory) / "policy.toml", _policy_line()),
        ]
        print_shares(kinds, True, options)


def _policy_line() -> str:
    document = json.dumps({"Version": "2012-10-17", "Statement": _STATEMENTS})
    return f"user = 'bench'\npolicy = '{document}'\n"


def _guarded(name: str, path: Path, lines: str) -> Kind:
    path.write_text(f"[{_KEY}]\nsecret = '{_SECRET}'\n{lines}")
    plain = hashrange_command()

    def command(port: int, directory: Path | None) -> list[str]:
        return [*plain(port, directory), "--credentials", str(path)]

    return Kind(name, lambda: True, lambda: "", command, "fsync", credentials=(_KEY, _SECRET))


if __name__ == "__main__":
    main()
