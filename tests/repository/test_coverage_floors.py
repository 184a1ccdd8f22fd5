"""The floors of coverage: how packages are added up, and when one is too low."""

from tests.repository.coverage_floors import FLOORS, shortfalls, tallies


def summary(reached, there, branches=0):
    return {
        "covered_lines": reached,
        "num_statements": there,
        "covered_branches": 0,
        "num_branches": branches,
    }


def test_lines_and_branches_of_a_package_are_added_up():
    packages = tallies({"model/a.py": summary(9, 10), "model/b.py": summary(1, 5, branches=5)})
    assert packages["model"].percent == 50.0
    assert packages["total"].percent == 50.0


def test_modules_of_no_package_count_for_the_total_only():
    packages = tallies({"app.py": summary(1, 2), "model/a.py": summary(2, 2)})
    assert (packages["model"].percent, packages["total"].percent) == (100.0, 75.0)


def test_a_package_below_its_floor_is_named():
    packages = tallies({"model/a.py": summary(9, 10), "api/a.py": summary(10, 10)})
    assert shortfalls(packages, {"model": 90.0, "api": 90.0}) == []
    assert shortfalls(packages, {"model": 95.0, "api": 90.0}) == [
        "model: 90.0 % is below the floor of 95.0 %"
    ]


def test_the_logic_has_floors():
    assert FLOORS.keys() == {"api", "expressions", "model", "storage", "total"}
    assert all(floor > 90 for floor in FLOORS.values())
