"""Networks of nodes whose links can be cut, also in one direction only.

Each node has a network namespace of its own; a bridge joins them. Servers and clients stay in the
namespace of the machine, which has the address `MACHINE` on the bridge. A link that is cut drops
everything; a route that is cut drops what one side sends to the other, and nothing else. All of it
needs root and `ip`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Final

NETWORK: Final = "10.77.0."
MACHINE: Final = 254
"""The number of the machine itself on the bridge."""

_BRIDGE: Final = "cassbr"
_NODES_MAX: Final = 9


def namespace(number: int) -> str:
    """Return the name of a node's namespace."""
    return f"cass{number}"


def why_impossible() -> str:
    """Return why links cannot be cut here; nothing if they can."""
    if shutil.which("ip") is None:
        return "the command ip is missing"
    if os.geteuid() != 0:
        return "network namespaces need root"
    probe = f"{namespace(0)}probe"
    made = subprocess.run(["ip", "netns", "add", probe], check=False, capture_output=True)
    _run_quietly("ip", "netns", "del", probe)
    return made.stderr.decode().strip()


def make_namespaces(count: int) -> None:
    """Make a bridge and a namespace per node."""
    _run_quietly("ip", "link", "add", _BRIDGE, "type", "bridge")
    _run_quietly("ip", "addr", "add", f"{NETWORK}{MACHINE}/24", "dev", _BRIDGE)
    _run_quietly("ip", "link", "set", _BRIDGE, "up")
    for i in range(1, count + 1):
        name = namespace(i)
        _run_quietly("ip", "netns", "add", name)
        pair = ["type", "veth", "peer", "name", "eth0", "netns", name]
        _run_quietly("ip", "link", "add", _outer(i), *pair)
        _run_quietly("ip", "link", "set", _outer(i), "master", _BRIDGE, "up")
        _run_quietly("ip", "-n", name, "addr", "add", f"{NETWORK}{i}/24", "dev", "eth0")
        for link in ("eth0", "lo"):
            _run_quietly("ip", "-n", name, "link", "set", link, "up")


def drop_namespaces() -> None:
    """Remove what `make_namespaces` made."""
    for i in range(1, _NODES_MAX + 1):
        _run_quietly("ip", "netns", "del", namespace(i))
    _run_quietly("ip", "link", "del", _BRIDGE)


def cut(number: int) -> None:
    """Cut the link of a node, in both directions."""
    _run("ip", "link", "set", _outer(number), "down")


def heal(number: int) -> None:
    """Join the link of a node again."""
    _run("ip", "link", "set", _outer(number), "up")


def cut_route(source: int, target: int) -> None:
    """Drop what one side sends to the other; MACHINE stands for servers and clients."""
    _run(*_routes(source), "add", "blackhole", f"{NETWORK}{target}/32")


def heal_route(source: int, target: int) -> None:
    """Let it pass again."""
    _run(*_routes(source), "del", "blackhole", f"{NETWORK}{target}/32")


def _routes(source: int) -> tuple[str, ...]:
    inside = () if source == MACHINE else ("-n", namespace(source))
    return ("ip", *inside, "route")


def _outer(number: int) -> str:
    return f"cassv{number}"


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def _run_quietly(*command: str) -> None:
    """Run a command that may fail because its work is done already."""
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
