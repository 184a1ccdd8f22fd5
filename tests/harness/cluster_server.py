"""`python -m tests.harness.cluster_server ...` is `hashrange ...` in memory, playing a cluster."""

from __future__ import annotations

import sys

from hashrange.cli.main import main
from tests.harness.engines import memory_plays

if __name__ == "__main__":
    with memory_plays("cluster"):
        main(sys.argv[1:])
