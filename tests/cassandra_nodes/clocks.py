"""Clocks of processes that jump while they run: a file says how far each is from the machine's.

A small library (clock.c) is loaded into the process before all others and changes what it sees of
the wall clock. The monotonic clock, and with it everything that waits, stays as it is.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from typing import Final

_SOURCE: Final = Path(__file__).resolve().parent / "clock.c"
_SECONDS: Final = struct.Struct("<q")


def why_impossible() -> str:
    """Return why clocks cannot jump here; nothing if they can."""
    return "" if shutil.which("cc") else "a C compiler is missing"


def build_clock(folder: Path) -> Path:
    """Compile the library into a folder."""
    library = folder / "clock.so"
    command = ["cc", "-O2", "-Wall", "-shared", "-fPIC", "-o", str(library), str(_SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    return library


def clock_environment(library: Path, file: Path) -> dict[str, str]:
    """Return the environment of a process whose clock follows the file."""
    return {"LD_PRELOAD": str(library), "CLOCK_FILE": str(file)}


def set_clock(file: Path, seconds: int) -> None:
    """Set a clock to so many seconds after the machine's clock, or before."""
    with file.open("r+b" if file.exists() else "wb") as target:
        target.write(_SECONDS.pack(seconds))
