"""`python -m tests.repository.coverage_floors` holds what the tests reached to its floors.

Reads the data of `make coverage`, prints one line per package and fails if one is below its floor.
A branch that is never taken counts like a line that is never run.
"""

import collections
import json
import sys
import tempfile
from pathlib import Path, PurePath

from coverage import Coverage

# Percent, about one below what was measured. A floor is raised, not lowered.
FLOORS = {
    "api": 95.9,
    "expressions": 95.3,
    "model": 97.9,
    "storage": 94.0,
    "total": 94.1,
}
WORST_SHOWN = 10


class Tally:
    """Counts lines and branches together, as coverage does."""

    def __init__(self):
        self.reached = 0
        self.there = 0

    def add(self, summary):
        self.reached += summary["covered_lines"] + summary["covered_branches"]
        self.there += summary["num_statements"] + summary["num_branches"]

    @property
    def percent(self):
        return 100 * self.reached / self.there if self.there else 100.0


def summaries():
    """Return the summary of each module by its path in the package."""
    coverage = Coverage()
    coverage.load()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        coverage.json_report(outfile=str(report))
        files = json.loads(report.read_text())["files"]
    found = {}
    for name, measured in files.items():
        parts = PurePath(name).parts
        inside = parts[parts.index("hashrange") + 1 :]
        found["/".join(inside)] = measured["summary"]
    return found


def tallies(modules):
    """Add up the modules of each package; those of no package are called `.`."""
    packages: dict[str, Tally] = collections.defaultdict(Tally)
    for name, summary in modules.items():
        package = name.split("/")[0] if "/" in name else "."
        packages[package].add(summary)
        packages["total"].add(summary)
    return packages


def shortfalls(packages, floors):
    """Say which packages are below their floors."""
    return [
        f"{name}: {packages[name].percent:.1f} % is below the floor of {floor} %"
        for name, floor in floors.items()
        if packages[name].percent < floor
    ]


def show(modules, packages):
    write = sys.stdout.write
    write(f"{'package':<28}{'reached':>9}{'floor':>8}\n")
    for name in sorted(packages, key=lambda name: (name == "total", name)):
        floor = f"{FLOORS[name]:.1f}" if name in FLOORS else ""
        write(f"{name:<28}{packages[name].percent:>8.1f}%{floor:>8}\n")
    write("\nreached least\n")
    worst = sorted(modules, key=lambda name: modules[name]["percent_covered"])[:WORST_SHOWN]
    for name in worst:
        write(f"{name:<44}{modules[name]['percent_covered']:>8.1f}%\n")


def main():
    modules = summaries()
    packages = tallies(modules)
    show(modules, packages)
    for line in shortfalls(packages, FLOORS):
        sys.stderr.write(f"{line}\n")
    return 1 if shortfalls(packages, FLOORS) else 0


if __name__ == "__main__":
    sys.exit(main())
