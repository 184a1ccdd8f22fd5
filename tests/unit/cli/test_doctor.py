"""The doctor finds what is wrong, and nothing where nothing is."""

import os
import socket

import pytest

from hashrange.cli import doctor
from hashrange.config import Settings

GOOD = {
    "AWS_ENDPOINT_URL": "http://127.0.0.1:8000",
    "AWS_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "local",
}


def levels(findings):
    return [finding.level for finding in findings]


def texts(findings, level):
    return [finding.text for finding in findings if finding.level == level]


def test_nothing_is_wrong_with_a_good_machine(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(doctor, "sync_seconds", lambda place: 0.001)
    monkeypatch.setattr(doctor, "_mounts", lambda: "disk / ext4 rw 0 0\n")
    environment = GOOD | {"AWS_ENDPOINT_URL": "http://127.0.0.1:0"}
    flags: dict[str, object] = {"port": "0", "data-dir": str(tmp_path / "data")}
    assert doctor.run(flags, environment) == 0
    report = capsys.readouterr().out
    assert "problem " not in report
    assert report.endswith("no problems found\n")
    assert not (tmp_path / "data").exists()


def test_a_problem_is_the_exit_status(capsys):
    assert doctor.run({"host": "0.0.0.0"}, {}) == 1
    report = capsys.readouterr().out
    assert "problem  settings: Host 0.0.0.0 can be reached" in report
    assert report.endswith("1 problem found\n")


def test_a_busy_port_is_a_problem():
    with socket.create_server(("127.0.0.1", 0)) as other:
        (finding,) = doctor.check_port("127.0.0.1", other.getsockname()[1])
    assert finding.level == "problem"
    assert "in use by another program" in finding.text


def test_a_contact_point_without_cassandra_is_a_problem():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        cluster = Settings(
            engine="cassandra", contact_points=("127.0.0.1", "127.0.0.2"), cassandra_port=port
        )
        assert levels(doctor.check_cluster(cluster)) == ["ok", "problem"]


def test_a_host_of_another_machine_is_a_problem():
    assert levels(doctor.check_port("192.0.2.1", 8000)) == ["problem"]


def test_a_file_in_the_way_of_the_data_is_a_problem(tmp_path):
    (tmp_path / "data").write_text("mine")
    (found,) = doctor.check_directory(tmp_path / "data")
    assert found.level == "problem"
    assert "is not a directory" in found.text


def test_a_directory_without_permission_is_a_problem(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert levels(doctor.check_directory(tmp_path)) == ["problem"]


@pytest.mark.parametrize(
    ("kind", "expected"), [("ext4", []), ("tmpfs", ["is lost"]), ("nfs4", ["locks and syncs"])]
)
def test_a_file_system_that_keeps_no_promises_is_named(tmp_path, monkeypatch, kind, expected):
    monkeypatch.setattr(doctor, "_mounts", lambda: f"disk / {kind} rw 0 0\n")
    monkeypatch.setattr(doctor, "sync_seconds", lambda place: 0.001)
    monkeypatch.setattr(doctor, "_FREE_BYTES_LOW", 0)
    found = texts(doctor.check_directory(tmp_path), "warning")
    assert len(found) == len(expected)
    assert all(part in text for part, text in zip(expected, found, strict=True))


def test_the_nearest_mount_counts(tmp_path):
    mounts = f"a / ext4 rw 0 0\nb {tmp_path} xfs rw 0 0\nc {tmp_path}-other tmpfs rw 0 0\n"
    assert doctor.file_system_of(tmp_path, mounts) == "xfs"


@pytest.mark.parametrize(
    ("seconds", "level"), [(0.001, "ok"), (0.05, "warning"), (0.000001, "warning")]
)
def test_a_sync_that_is_slow_or_too_quick_is_a_warning(tmp_path, seconds, level):
    assert levels(doctor.check_sync(tmp_path, lambda place: seconds)) == [level]


def test_the_speed_is_measured_without_a_trace(tmp_path):
    assert doctor.sync_seconds(tmp_path) > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"AWS_ENDPOINT_URL": "https://127.0.0.1:8000"}, "speaks http"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9000"}, "not port 8000"),
        ({"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, "sends them to AWS"),
        ({"AWS_REGION": ""}, "AWS_DEFAULT_REGION"),
        ({"HTTP_PROXY": "http://proxy:3128"}, "NO_PROXY"),
    ],
)
def test_a_mistake_of_clients_is_a_warning(change, part):
    (text,) = texts(doctor.check_clients(Settings(), GOOD | change), "warning")
    assert part in text


def test_the_variable_of_one_service_is_a_warning():
    environment = {**GOOD, "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:8000"}
    del environment["AWS_ENDPOINT_URL"]
    (text,) = texts(doctor.check_clients(Settings(), environment), "warning")
    assert "Streams and Lambda" in text


def test_an_open_or_forgetful_server_is_a_warning():
    settings = Settings(host="0.0.0.0", insecure=True, durability="relaxed")
    assert levels(doctor.check_exposure(settings)) == ["warning"] * 3  # and it has no TLS
    assert levels(doctor.check_exposure(Settings())) == []
