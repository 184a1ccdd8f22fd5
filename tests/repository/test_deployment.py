"""Dockerfile, compose.yaml and the systemd unit agree with the program and with good practice.

No container is built here: the files are parsed, and what can be run without an engine is run.
"""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from hashrange.cli.main import build_parser
from hashrange.config import Settings, load_settings
from hashrange.options import OPTIONS
from hashrange.testing import serve

ROOT = Path(__file__).parents[2]
VARIABLES = {f"HASHRANGE_{option.name.upper().replace('-', '_')}" for option in OPTIONS}


def instructions():
    """Return the instructions of the Dockerfile as pairs, in order."""
    text = (ROOT / "Dockerfile").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [tuple(line.split(" ", 1)) for line in joined.splitlines()]


def final_stage():
    found = instructions()
    start = max(index for index, (word, _) in enumerate(found) if word == "FROM")
    return dict(found[start:])


def image_environment():
    return dict(pair.split("=", 1) for pair in shlex.split(final_stage()["ENV"]))


def seconds(text):
    return int(text.removesuffix("s"))


@pytest.fixture(scope="module")
def service():
    return yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["hashrange"]


@pytest.fixture(scope="module")
def unit():
    class CaseSensitive(configparser.ConfigParser):
        def optionxform(self, optionstr: str) -> str:
            return optionstr

    parser = CaseSensitive(interpolation=None)
    parser.read(ROOT / "deploy" / "hashrange.service")
    return parser["Service"]


def test_the_image_is_slim_made_in_two_stages_and_pinned_to_a_version():
    bases = [rest for word, rest in instructions() if word == "FROM"]
    assert len(bases) == 2
    assert all(re.match(r"python:3\.\d+-slim", base) for base in bases)
    assert {word for word, _ in instructions()} <= {
        *("FROM", "ARG", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE"),
        *("STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"),
    }


def test_the_image_runs_as_a_user_that_is_not_root_and_owns_the_volume():
    stage = final_stage()
    user = stage["USER"]
    assert user.isdecimal()
    assert int(user) > 0
    assert f"--uid {user}" in stage["RUN"]
    assert stage["RUN"].endswith(stage["VOLUME"])


def test_the_image_installs_without_a_cache_and_copies_only_what_is_there():
    (install,) = [rest for _, rest in instructions() if " install --no-cache-dir" in rest]
    assert install.endswith(' ".$EXTRAS"')
    allowed = (ROOT / ".dockerignore").read_text().splitlines()
    for word, rest in instructions():
        if word == "COPY" and not rest.startswith("--from"):
            for name in rest.split()[:-1]:
                assert (ROOT / name).exists()
                assert f"!{name}" in allowed


def test_the_settings_of_the_image_are_understood():
    environment = image_environment()
    ours = {name for name in environment if name.startswith("HASHRANGE_")}
    assert ours <= VARIABLES
    given = {name: environment[name] for name in ours} | {"HASHRANGE_INSECURE": "true"}
    settings = load_settings({}, given)
    assert settings.host == "0.0.0.0"
    assert str(settings.port) == final_stage()["EXPOSE"]
    assert Path(final_stage()["VOLUME"]) in settings.data_dir.parents


def test_the_command_of_the_image_is_a_command():
    stage = final_stage()
    program, *arguments = json.loads(stage["ENTRYPOINT"]) + json.loads(stage["CMD"])
    assert program == "hashrange"
    assert build_parser().parse_args(arguments).command == "serve"


def test_the_health_check_tells_a_server_that_is_ready_from_none():
    _, _, words = final_stage()["HEALTHCHECK"].partition("CMD ")
    program, *arguments = json.loads(words)
    assert program == "python"

    def status(port):
        environment = {**os.environ, "HASHRANGE_PORT": str(port)}
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, env=environment, capture_output=True, check=False, timeout=30
        )
        return done.returncode

    with serve() as server:
        port = server.endpoint_url.rpartition(":")[2]
        assert status(port) == 0
    assert status(port) == 1


def test_compose_publishes_an_open_server_on_this_machine_only(service):
    assert service["environment"] == {"HASHRANGE_INSECURE": "true"}
    port = image_environment()["HASHRANGE_PORT"]
    assert service["ports"] == [f"127.0.0.1:8000:{port}"]


def test_compose_keeps_data_on_a_named_volume(service):
    (volume,) = service["volumes"]
    name, place = volume.split(":")
    assert name in yaml.safe_load((ROOT / "compose.yaml").read_text())["volumes"]
    assert place == final_stage()["VOLUME"]


@pytest.fixture(scope="module")
def cluster():
    return yaml.safe_load((ROOT / "deploy" / "compose-cluster.yaml").read_text())["services"]


def test_the_servers_of_a_cluster_get_settings_that_are_understood(cluster):
    servers = {name: one for name, one in cluster.items() if name.startswith("hashrange")}
    nodes = sorted(set(cluster) - set(servers))
    assert (len(servers), len(nodes)) == (2, 3)
    image = {k: v for k, v in image_environment().items() if k.startswith("HASHRANGE_")}
    for server in servers.values():
        assert set(server["environment"]) <= VARIABLES
        settings = load_settings({}, image | server["environment"])
        assert settings.is_clustered
        assert sorted(settings.contact_points) == nodes
        assert settings.replication <= len(nodes)
        assert server["build"]["args"]["EXTRAS"] == "[cassandra]"
        assert (ROOT / "deploy" / server["build"]["context"] / "Dockerfile").is_file()
        assert all(one["condition"] == "service_healthy" for one in server["depends_on"].values())
        assert sorted(server["depends_on"]) == nodes
    published = [port for server in servers.values() for port in server["ports"]]
    assert published == ["127.0.0.1:8000:8000", "127.0.0.1:8001:8000"]


def test_the_nodes_of_a_cluster_are_set_up_as_the_guide_asks(cluster, tmp_path):
    configuration = tmp_path / "cassandra.yaml"
    configuration.write_text(
        "commitlog_sync: periodic\ncommitlog_sync_period: 10000ms\ncommitlog_segment_size: 32MiB\n"
    )
    shell, flag, script = cluster["cassandra-1"]["entrypoint"]
    assert (shell, flag) == ("bash", "-c")
    changes, _, start = script.replace(
        "/etc/cassandra/cassandra.yaml", str(configuration)
    ).partition("exec ")
    assert start == "docker-entrypoint.sh cassandra -f"
    subprocess.run(["bash", "-ec", changes + "true"], check=True, timeout=30)
    settings = yaml.safe_load(configuration.read_text())
    guide = (ROOT / "docs" / "guides" / "cluster.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)`", guide, re.MULTILINE)
    assert len(rows) == 4
    for name, value in rows:
        assert settings[name] == value, name
    assert "commitlog_sync_period" not in settings


def test_a_stop_has_longer_than_the_server_takes(service, unit):
    longest = Settings().stop_timeout + 5
    assert seconds(service["stop_grace_period"]) > longest
    assert seconds(unit["TimeoutStopSec"]) > longest


def test_the_unit_starts_a_server_with_data_in_its_state_directory(unit):
    program, *arguments = shlex.split(unit["ExecStart"])
    assert Path(program).name == "hashrange"
    given = build_parser().parse_args(arguments)
    assert Path("/var/lib", unit["StateDirectory"]) in Path(given.data_dir).parents


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd")
def test_systemd_finds_nothing_wrong_with_the_unit(unit, tmp_path):
    program = shlex.split(unit["ExecStart"])[0]
    text = (ROOT / "deploy" / "hashrange.service").read_text()
    # The program has to exist for the check.
    path = tmp_path / "hashrange.service"
    path.write_text(text.replace(program, sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    complaints = [line for line in done.stderr.splitlines() if "hashrange" in line]
    assert complaints == []
