"""Every command copes with bad designs and with nearly empty ones."""

import json

import pytest
import yaml

from hashrange.cli.main import main
from tests.toolkit.checker.documents import HERE

STANDARDS = sorted((HERE / "standards").glob("*.yaml"))
BARE = {
    "nothing": {"name": "nothing", "tables": {}},
    "a table": {"name": "bare", "tables": {"Bare": {"partition_key": "id"}}},
    "a scan": {
        "name": "bare",
        "tables": {"Bare": {"partition_key": {"name": "id", "type": "N"}}},
        "patterns": {"all": {"operation": "scan", "rate": {"average": 1}}},
    },
}
COMMANDS = [
    ("check", "--verbose"),
    ("policy",),
    ("test", "--items", "8", "--calls", "1"),
    ("cost",),
    ("simulate", "--minutes", "1"),
    ("report",),
]


def documents():
    for path in STANDARDS:
        yield pytest.param(yaml.safe_load(path.read_text())["bad"], id=path.stem)
    for name, document in BARE.items():
        yield pytest.param(document, id=name)


@pytest.mark.parametrize("document", list(documents()))
def test_every_command_copes_with_a_design(document, tmp_path, capsys):
    path = tmp_path / "design.json"
    path.write_text(json.dumps(document))
    for verb, *options in COMMANDS:
        with pytest.raises(SystemExit) as stopped:
            main(["design", verb, str(path), *options])
        found = capsys.readouterr()
        assert stopped.value.code in (0, 1), f"{verb}: {found.err}"
        assert found.err == ""
