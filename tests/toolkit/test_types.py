"""User code is checked by mypy, strict, and by pyright: types go in and come out."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USER_CODE = """
from examples.designs.shop import Customer, Shop, Status
from hashrange.toolkit.async_bound import AsyncBoundDesign


def use(shop: Shop) -> None:
    reveal_type(shop.customer("7"))
    reveal_type(shop.customer_orders("7", limit=3).all())
    reveal_type(shop.sign_up(Customer("1", "a@x", "Ann")))
    shop.customer(7)  # wrong: str
    shop.orders_by_status("paid")  # wrong: Status
    shop.customer(nobody="7")  # wrong: no such parameter


async def wait(shop: AsyncBoundDesign) -> None:
    reveal_type(await shop.run(Shop.customer, "7"))
    reveal_type(await shop.pages(Shop.orders_by_status, Status.PAID).all())
    await shop.run(Shop.customer, 7)  # wrong: str
"""
REVEALED = ["Customer | None", "list[Order]", "Customer", "Customer | None", "list[Order]"]


@pytest.fixture
def user_code(tmp_path):
    path = tmp_path / "user_code.py"
    path.write_text(USER_CODE)
    return path


def wrong_lines():
    lines = USER_CODE.splitlines()
    return {at for at, line in enumerate(lines, 1) if "# wrong" in line}


def run(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_mypy_knows_the_types_of_declared_patterns(user_code):
    _, output = run(sys.executable, "-m", "mypy", "--strict", str(user_code))
    plain = re.sub(r"examples\.designs\.shop\.", "", output)
    assert re.findall(r'Revealed type is "(.*)"', plain) == REVEALED
    assert {int(at) for at in re.findall(r"py:(\d+): error", output)} == wrong_lines()


def test_mypy_finds_nothing_in_the_examples():
    code, output = run(sys.executable, "-m", "mypy", "--strict", "examples/designs")
    assert code == 0, output


@pytest.mark.pyright
def test_pyright_knows_the_types_of_declared_patterns(user_code):
    settings = user_code.parent / "pyrightconfig.json"
    settings.write_text(f'{{"include": ["user_code.py"], "extraPaths": ["{ROOT}", "{ROOT}/src"]}}')
    _, output = run(
        sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", str(settings)
    )
    assert re.findall(r'is "([^"]*)"\n', output) == REVEALED
    assert {int(at) for at in re.findall(r"py:(\d+):\d+ - error", output)} == wrong_lines()


@pytest.mark.pyright
def test_pyright_finds_nothing_in_the_examples():
    code, output = run(
        sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "examples/designs"
    )
    assert code == 0, output
