"""Settings: three sources, one precedence, and no value that is quietly ignored."""

from dataclasses import replace
from pathlib import Path

import pytest

from hashrange.config import Settings, SettingsError, load_settings
from hashrange.options import CLUSTER_FIELDS, OPTIONS, Kind


def refusal(flags=None, environment=None):
    with pytest.raises(SettingsError) as caught:
        load_settings(flags or {}, environment or {})
    return str(caught.value)


def test_nothing_given_means_the_defaults():
    settings = load_settings({}, {})
    assert replace(settings, workers=0) == Settings()


def test_workers_suit_the_machine_unless_they_are_given(monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    for cores, workers in ((1, 1), (2, 2), (4, 4), (64, 4)):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, n=cores: range(n), raising=False)
        assert load_settings({}, {}).workers == workers
        assert load_settings({"workers": "0"}, {}).workers == workers
        assert load_settings({"workers": "7"}, {}).workers == 7
        assert load_settings({"in-memory": True}, {}).workers == 1
    monkeypatch.setattr("sys.platform", "darwin")
    assert load_settings({}, {}).workers == 1


def test_flags_go_before_environment_and_environment_before_the_file(tmp_path):
    file = tmp_path / "hashrange.toml"
    file.write_text('port = 1\nworkers = 1\nlog-level = "error"\n')
    environment = {"HASHRANGE_CONFIG": str(file), "HASHRANGE_PORT": "2", "HASHRANGE_WORKERS": "2"}
    settings = load_settings({"port": "3"}, environment)
    assert (settings.port, settings.workers, settings.log_level) == (3, 2, "error")


def test_paths_in_a_file_are_meant_from_where_the_file_is(tmp_path):
    file = tmp_path / "hashrange.toml"
    file.write_text('data-dir = "data"\n')
    assert load_settings({"config": str(file)}, {}).data_dir == tmp_path / "data"
    assert load_settings({"data-dir": "data"}, {}).data_dir == Path("data")


@pytest.mark.parametrize(("text", "value"), [("1", True), ("TRUE", True), ("no", False)])
def test_switches_in_the_environment_are_words(text, value):
    assert load_settings({}, {"HASHRANGE_IN_MEMORY": text}).in_memory is value


def test_an_empty_variable_says_nothing():
    assert load_settings({}, {"HASHRANGE_PORT": ""}).port == 8000


CLUSTER = {"HASHRANGE_ENGINE": "cassandra", "HASHRANGE_CONTACT_POINTS": "10.0.0.1"}


def companions(option, folder):
    """Return the settings that a setting is not accepted without."""
    if option.field not in CLUSTER_FIELDS and option.name != "engine":
        return {}
    login = {
        "HASHRANGE_CASSANDRA_USER": "someone",
        "HASHRANGE_CASSANDRA_PASSWORD_FILE": str(folder),
    }
    found = CLUSTER | (login if option.variable in login else {})
    return {name: value for name, value in found.items() if name != option.variable}


# Settings that make sense only together with others.
COMPANIONS = {
    "plain-buckets": {"bucket-dir": "elsewhere"},
    "s3-credentials": {"s3-endpoint": "https://s3.example.com"},
    "tls-cert": {"tls-key": "a.key"},
    "tls-key": {"tls-cert": "a.crt"},
    "tls-client-ca": {"tls-cert": "a.crt", "tls-key": "a.key"},
}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_is_a_setting_that_every_source_can_give(option, tmp_path):
    given = {
        Kind.SWITCH: "true",
        Kind.COUNT: "1",
        Kind.SECONDS: "2.5",
        Kind.PATH: str(tmp_path),
        Kind.PLACE: str(tmp_path),
        Kind.TEXTS: option.example,
        Kind.TEXT: option.choices[-1] if option.choices else option.example or "127.0.0.9",
    }[option.kind]
    file = tmp_path / "hashrange.toml"
    bare = option.kind in (Kind.SWITCH, Kind.COUNT, Kind.SECONDS)
    file.write_text(f"{option.name} = {given if bare else repr(given)}\n")
    others = companions(option, tmp_path)
    needed = COMPANIONS.get(option.name, {})
    values = [
        getattr(load_settings(needed | flags, others | environment), option.field)
        for flags, environment in (
            ({option.name: given}, {}),
            ({}, {option.variable: given}),
            ({"config": str(file)}, {}),
        )
    ]
    assert values[0] == values[1] == values[2]
    expected = str((given,)) if option.kind is Kind.TEXTS else given
    assert str(values[0]).lower() == expected


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ({"port": "x"}, "--port is a whole number from 0 to 65535, not 'x'."),
        ({"port": "65536"}, "--port is a whole number from 0 to 65535, not '65536'."),
        ({"workers": "-1"}, "--workers is a whole number from 0 to 1000, not '-1'."),
        ({"table-delay": "nan"}, "--table-delay is a number of seconds"),
        ({"table-delay": "3601"}, "is a number of seconds from 0 to 3600, not '3601'."),
        ({"ttl-delay": "604801"}, "is a number of seconds from 0 to 604800, not '604801'."),
        ({"durability": "none"}, "--durability is one of full, relaxed, not 'none'."),
        ({"host": ""}, "--host needs a text"),
        ({"in-memory": True, "workers": "2"}, "in-memory needs a single worker"),
        ({"in-memory": True, "data-dir": "x"}, "leave out either it or data-dir"),
        ({"realistic": True, "table-delay": "1"}, "leave out either it or table-delay"),
        ({"plain-buckets": True}, "needs a bucket-dir outside of the data directory"),
        (
            {"plain-buckets": True, "data-dir": "a", "bucket-dir": "a/b"},
            "needs a bucket-dir outside of the data directory",
        ),
        ({"keyspace": "x"}, "keyspace is for --engine cassandra only"),
        ({"engine": "cassandra"}, "engine cassandra needs contact-points"),
        ({"engine": "cassandra", "data-dir": "x"}, "data-dir says nothing to engine cassandra"),
        ({"keyspace": "No-Such"}, "--keyspace looks like hashrange_2, not 'No-Such'."),
        (
            {"engine": "cassandra", "contact-points": "10.0.0.1", "cassandra-user": "x"},
            "cassandra-user and cassandra-password-file need each other",
        ),
        (
            {"engine": "cassandra", "contact-points": "10.0.0.1", "auth": True},
            "On a cluster, give --key-file",
        ),
        ({"credentials": "nowhere.toml"}, "Cannot read the credentials file nowhere.toml"),
    ],
)
def test_what_makes_no_sense_is_refused(flags, complaint):
    assert complaint in refusal(flags)


def test_a_flag_may_overrule_what_contradicts_it_elsewhere():
    environment = {"HASHRANGE_DATA_DIR": "data"}
    assert load_settings({"in-memory": True}, environment).in_memory


def test_complaints_name_the_source(tmp_path):
    assert refusal(environment={"HASHRANGE_PORT": "tcp://10.0.0.1"}).startswith("HASHRANGE_PORT is")
    file = tmp_path / "hashrange.toml"
    file.write_text("port = true\n")
    assert refusal({"config": str(file)}).startswith(f"{file}: port is a whole number")
    file.write_text("colour = 1\n")
    assert refusal({"config": str(file)}) == f"{file}: colour is not a setting of Hashrange."
    file.write_text("=")
    assert "is not valid TOML" in refusal({"config": str(file)})
    assert "Cannot read" in refusal({"config": str(tmp_path / "none")})


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.2", "::", "127.example.com"])
def test_a_host_beyond_loopback_needs_credentials(host, tmp_path):
    assert "--credentials FILE, or --insecure" in refusal({"host": host})
    assert load_settings({"host": host, "insecure": True}, {}).host == host
    keys = tmp_path / "keys.toml"
    keys.write_text("")
    assert load_settings({"host": host, "credentials": str(keys)}, {}).host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "::1"])
def test_loopback_needs_none(host):
    assert load_settings({"host": host}, {}).host == host


def test_settings_of_several_texts_are_repeated_listed_or_separated_by_commas(tmp_path):
    file = tmp_path / "hashrange.toml"
    file.write_text('cors-origin = ["https://a.example", "http://localhost:3000"]\n')
    origins = ("https://a.example", "http://localhost:3000")
    flags = {"cors-origin": list(origins)}
    variables = {"HASHRANGE_CORS_ORIGIN": "https://A.example, http://localhost:3000"}
    assert load_settings(flags, {}).cors_origin == origins
    assert load_settings({}, variables).cors_origin == origins
    assert load_settings({"config": str(file)}, {}).cors_origin == origins
    assert load_settings({}, {}).cors_origin == ()


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ({"cors-origin": ["*"]}, "--cors-origin looks like https://app.example.com, not '*'."),
        ({"cors-origin": ["null"]}, "--cors-origin looks like"),
        ({"cors-origin": ["https://a.example/"]}, "--cors-origin looks like"),
        ({"allowed-host": ["a.example:80"]}, "--allowed-host looks like db.example.com"),
        ({"allowed-host": 7}, "--allowed-host needs a list of texts"),
    ],
)
def test_origins_and_hosts_that_browsers_never_send_are_refused(flags, complaint):
    assert complaint in refusal(flags)


def test_functions_are_never_registered_by_strangers_from_other_machines(tmp_path):
    flags = {"host": "0.0.0.0", "insecure": True, "allow-functions": True}
    assert "allow-functions lets every client run programs" in refusal(flags)
    keys = tmp_path / "keys.toml"
    keys.write_text("")
    assert load_settings({**flags, "credentials": str(keys)}, {}).allow_functions
    assert not load_settings({}, {}).allow_functions


def test_backups_may_be_in_an_s3_service(tmp_path):
    flags = {"backup-dir": "s3://archive/prod", "s3-endpoint": "http://127.0.0.1:9000"}
    assert load_settings(flags, {}).backup_dir == "s3://archive/prod"
    file = tmp_path / "settings.toml"
    file.write_text('backup-dir = "s3://archive"\ns3-endpoint = "http://127.0.0.1:9000"\n')
    assert load_settings({"config": str(file)}, {}).backup_dir == "s3://archive"
    with pytest.raises(SettingsError, match="give s3-endpoint too"):
        load_settings({"backup-dir": "s3://archive"}, {})
    with pytest.raises(SettingsError, match="looks like s3://bucket/prefix"):
        load_settings({"backup-dir": "s3:archive"}, {})
