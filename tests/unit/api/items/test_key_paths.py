"""Paths into key attributes are refused."""

from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.api.items.key_paths import check_paths
from hashrange.errors import ValidationException
from hashrange.model.schema import KeyPart
from tests.harness.schemas import make_index, make_table

TABLE = make_table(KeyPart("p", "S"), indexes=(make_index("by_n", KeyPart("n", "N")),))


def expression(*nested: str) -> Any:
    return SimpleNamespace(nested_attributes=frozenset(nested))


@pytest.mark.parametrize(("name", "label"), [("p", "Key: p"), ("n", "IndexKey: n")])
def test_no_path_leads_into_a_key(name, label):
    with pytest.raises(ValidationException, match=f"Key attributes must be scalars; .*: {label}$"):
        check_paths(TABLE, expression(name, "other"))


def test_other_attributes_may_have_paths():
    check_paths(TABLE, None)
    check_paths(TABLE, expression())
    check_paths(TABLE, expression("other"))
