"""One frozen settings object, read from flags, then the environment, then a TOML file.

Each setting has one name: `data-dir` is the flag `--data-dir`, the variable `HASHRANGE_DATA_DIR`
and the key `data-dir` of the file. What is not understood is refused; nothing is ignored. Nobody
below `app` reads settings.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from hashrange.options import CLUSTER_FIELDS, ENVIRONMENT_PREFIX, OPTIONS, Kind, Option
from hashrange.server_key import KEY_VARIABLE, KeySource

if TYPE_CHECKING:
    from hashrange.model.triggers import FunctionRecord, MappingRecord

CONFIG_OPTION: Final = "config"

# Beyond this, more workers are a matter of taste: each takes memory, and writes take turns.
_WORKERS_SUITING_MAX: Final = 4

_LOOPBACK: Final = re.compile(r"localhost|::1|127(\.[0-9]{1,3}){3}")
_HTTP: Final = re.compile(r"https?://[^\s/]+/?")
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off"})


class SettingsError(Exception):
    """A setting cannot be used; the message says which and why, for people."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a server can be told; the defaults suit a laptop."""

    host: str = "127.0.0.1"
    port: int = 8000
    data_dir: Path = Path("hashrange-data")
    backup_dir: Path | str | None = None
    in_memory: bool = False
    engine: Literal["sqlite", "cassandra"] = "sqlite"
    contact_points: tuple[str, ...] = ()
    cassandra_port: int = 9042
    keyspace: str = "hashrange"
    replication: int = 3
    datacenter: str = ""
    cassandra_user: str = ""
    cassandra_password_file: Path | None = None
    cassandra_ca: Path | None = None
    table_shards: int = 16
    allow_periodic_commit_log: bool = False
    workers: int = 0
    durability: Literal["full", "relaxed"] = "full"
    table_delay: float = 0.0
    realistic: bool = False
    capacity: Literal["provisioned", "aws", "off"] = "provisioned"
    ttl_delay: float = 0.0
    credentials: Path | None = None
    auth: bool = False
    key_file: Path | None = None
    key_command: str | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    insecure: bool = False
    cors_origin: tuple[str, ...] = ()
    allowed_host: tuple[str, ...] = ()
    allow_functions: bool = False
    faults: bool = False
    bucket_dir: Path | None = None
    plain_buckets: bool = False
    s3_endpoint: str | None = None
    s3_region: str = "us-east-1"
    s3_credentials: Path | None = None
    max_connections: int = 4096
    max_in_flight: int = 8192
    idle_timeout: int = 300
    stop_timeout: int = 20
    audit: str = "auto"
    audit_file: Path | None = None
    metrics: str = "on"
    otlp_endpoint: str | None = None
    slow_request_ms: int = 0
    wasteful_ratio: int = 0
    log_level: str = "info"
    log_format: str = "human"
    # Only in the environment: flags of a process can be seen by others.
    key: str | None = field(default=None, repr=False)
    # Only in a file; see trigger_settings.
    functions: tuple[FunctionRecord, ...] = ()
    triggers: tuple[MappingRecord, ...] = ()

    @property
    def key_source(self) -> KeySource:
        """Where the server's key comes from."""
        return KeySource(self.key_file, self.key_command, self.key)

    @property
    def scheme(self) -> str:
        """What the URL of the server begins with."""
        return "http" if self.tls_cert is None else "https"

    @property
    def is_guarded(self) -> bool:
        """Whether signatures are verified."""
        return self.auth or self.credentials is not None

    @property
    def is_clustered(self) -> bool:
        """Whether the data is in a Cassandra cluster."""
        return self.engine == "cassandra"


def default_of(option: Option) -> object:
    """Return what a setting is when nobody says anything."""
    return next(field.default for field in fields(Settings) if field.name == option.field)


def load_settings(flags: Mapping[str, object], environment: Mapping[str, str]) -> Settings:
    """Return the settings of flags over environment over file; flags are named as options are."""
    config = flags.get(CONFIG_OPTION) or environment.get(f"{ENVIRONMENT_PREFIX}CONFIG")
    sources: list[dict[str, Any]] = []
    if config:
        sources.append(_from_file(Path(str(config))))
    sources.append(_from_environment(environment))
    sources.append(_parse_all({name: flags[name] for name in flags if name != CONFIG_OPTION}, "--"))
    values: dict[str, Any] = {}
    for source in sources:
        _check_contradictions(source)
        values.update(source)
    if values.get("realistic") and "capacity" not in values:
        values["capacity"] = "aws"
    settings = Settings(**values, key=environment.get(KEY_VARIABLE) or None)
    _check_agreement(settings)
    return replace(settings, workers=settings.workers or _workers_that_suit(settings))


def _workers_that_suit(settings: Settings) -> int:
    """Return the number of workers for this machine.

    By measurement: a second one on two cores answers 1.2 to 1.7 times as many reads and 0.9 to 1.3
    times as many writes. Only Linux spreads connections over processes that share a port.
    """
    # Workers on one cluster would compete for its shards; see docs/guides/cluster.md.
    if settings.in_memory or settings.is_clustered or sys.platform != "linux":
        return 1
    return min(len(os.sched_getaffinity(0)), _WORKERS_SUITING_MAX)


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    return _LOOPBACK.fullmatch(host) is not None


def _from_file(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"Cannot read {path}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}.") from error
    triggers = _parse_triggers(document, path)
    values = _parse_all(document, f"{path}: ") | triggers
    for option in OPTIONS:
        if isinstance(values.get(option.field), Path):
            # A path in a file is meant from where the file is, not from where the server starts.
            values[option.field] = path.absolute().parent / values[option.field]
    return values


def _parse_triggers(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """Take functions and triggers out of a document and return them parsed."""
    given = {name: document.pop(name) for name in ("functions", "triggers") if name in document}
    if not given:
        return {}
    # Hardly anybody has them, and everybody waits for what is imported.
    from hashrange.trigger_settings import TriggerSettingsError, read_functions, read_triggers

    try:
        functions = read_functions(given.get("functions", {}), path.absolute().parent)
        known = frozenset(function.name for function in functions)
        triggers = read_triggers(given.get("triggers", []), known)
    except TriggerSettingsError as error:
        raise SettingsError(f"{path}: {error}") from error
    return {"functions": functions, "triggers": triggers}


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    given = {
        option.name: environment[option.variable]
        for option in OPTIONS
        if environment.get(option.variable, "") != ""
    }
    return _parse_all(given, ENVIRONMENT_PREFIX)


def _parse_all(given: Mapping[str, object], source: str) -> dict[str, Any]:
    options = {option.name: option for option in OPTIONS}
    values = {}
    for name, value in given.items():
        option = options.get(name)
        if option is None:
            raise SettingsError(f"{source}{name} is not a setting of Hashrange.")
        shown = option.variable if source == ENVIRONMENT_PREFIX else f"{source}{name}"
        values[option.field] = _parse(option, value, shown)
    return values


def _parse(option: Option, value: object, shown: str) -> object:
    if option.kind is Kind.SWITCH:
        return _parse_switch(value, shown)
    if option.kind is Kind.COUNT:
        return _parse_count(option, value, shown)
    if option.kind is Kind.SECONDS:
        return _parse_seconds(option, value, shown)
    if option.kind is Kind.TEXTS:
        return _parse_texts(option, value, shown)
    if not isinstance(value, str) or not value:
        raise SettingsError(f"{shown} needs a text, not {value!r}.")
    if option.choices and value not in option.choices:
        raise SettingsError(f"{shown} is one of {', '.join(option.choices)}, not {value!r}.")
    if option.pattern and not re.fullmatch(option.pattern, value):
        raise SettingsError(f"{shown} looks like {option.example}, not {value!r}.")
    if option.kind is Kind.PLACE and value.startswith("s3:"):
        if not re.fullmatch(r"s3://[^/\s]+(/\S*)?", value):
            raise SettingsError(f"{shown} looks like s3://bucket/prefix, not {value!r}.")
        return value
    if option.kind in (Kind.PATH, Kind.PLACE):
        return Path(value)
    return value


def _parse_switch(value: object, shown: str) -> bool:
    text = str(value).lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise SettingsError(f"{shown} is true or false, not {value!r}.")


def _parse_texts(option: Option, value: object, shown: str) -> tuple[str, ...]:
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, list):
        raise SettingsError(f"{shown} needs a list of texts, not {value!r}.")
    texts = tuple(str(text).strip().lower() for text in given)
    for text in texts:
        if not re.fullmatch(option.pattern, text):
            raise SettingsError(f"{shown} looks like {option.example}, not {text!r}.")
    return texts


def _parse_count(option: Option, value: object, shown: str) -> int:
    text = str(value)
    if text.isascii() and text.isdigit() and len(text) < 10:
        count = int(text)
        if option.lowest <= count <= option.highest:
            return count
    raise SettingsError(
        f"{shown} is a whole number from {option.lowest} to {option.highest}, not {value!r}."
    )


def _parse_seconds(option: Option, value: object, shown: str) -> float:
    try:
        seconds = float(str(value))
    except ValueError:
        seconds = -1.0
    if not option.lowest <= seconds <= option.highest:
        raise SettingsError(
            f"{shown} is a number of seconds from {option.lowest} to {option.highest}, "
            f"not {value!r}."
        )
    return seconds


def _check_contradictions(source: Mapping[str, Any]) -> None:
    """Refuse what one and the same source cannot mean."""
    if source.get("in_memory") and "data_dir" in source:
        raise SettingsError("in-memory keeps nothing on disk: leave out either it or data-dir.")
    if source.get("engine") == "cassandra":
        for name in ("in_memory", "data_dir", "durability"):
            if name in source:
                raise SettingsError(f"{name.replace('_', '-')} says nothing to engine cassandra.")
    if source.get("realistic") and "table_delay" in source:
        raise SettingsError("realistic brings its own delays: leave out either it or table-delay.")


def _check_cluster(settings: Settings) -> None:
    """Refuse settings of a cluster without one, and a cluster that cannot be found."""
    if not settings.is_clustered:
        plain = Settings()
        for name in CLUSTER_FIELDS:
            if getattr(settings, name) != getattr(plain, name):
                raise SettingsError(f"{name.replace('_', '-')} is for --engine cassandra only.")
        return
    if settings.in_memory:
        raise SettingsError("in-memory and engine cassandra exclude each other.")
    if not settings.contact_points:
        raise SettingsError("engine cassandra needs contact-points, addresses of Cassandra nodes.")
    if bool(settings.cassandra_user) != bool(settings.cassandra_password_file):
        raise SettingsError("cassandra-user and cassandra-password-file need each other.")
    if settings.is_guarded and not settings.key_source.is_given:
        raise SettingsError(
            "On a cluster, give --key-file: all processes need the same key for secrets."
        )


def _check_agreement(settings: Settings) -> None:
    _check_cluster(settings)
    if settings.in_memory and settings.workers > 1:
        raise SettingsError("in-memory needs a single worker: processes do not share memory.")
    if not is_loopback(settings.host) and not settings.is_guarded and not settings.insecure:
        raise SettingsError(
            f"Host {settings.host} can be reached from other machines, and without credentials "
            "anybody could read and change the data. Give --auth or --credentials FILE, or "
            "--insecure if that is what you want."
        )
    if settings.allow_functions and not is_loopback(settings.host) and not settings.credentials:
        raise SettingsError(
            f"Host {settings.host} can be reached from other machines, and allow-functions lets "
            "every client run programs as the server's user. Give --credentials FILE."
        )
    if settings.s3_endpoint is not None and not _HTTP.fullmatch(settings.s3_endpoint):
        raise SettingsError("s3-endpoint must be an address such as https://s3.example.com.")
    if isinstance(settings.backup_dir, str) and settings.s3_endpoint is None:
        raise SettingsError("backup-dir is in an S3 service: give s3-endpoint too.")
    if settings.s3_endpoint is None and settings.s3_credentials is not None:
        raise SettingsError("s3-credentials are for an S3 service: give s3-endpoint too.")
    if settings.s3_credentials is not None and not os.access(settings.s3_credentials, os.R_OK):
        raise SettingsError(f"Cannot read the credentials file {settings.s3_credentials}.")
    if settings.plain_buckets and not _is_outside(settings.bucket_dir, settings.data_dir):
        raise SettingsError("plain-buckets needs a bucket-dir outside of the data directory.")
    if sum(map(bool, (settings.key_file, settings.key_command, settings.key))) > 1:
        raise SettingsError(f"Give one of key-file, key-command and {KEY_VARIABLE}, not several.")
    if (settings.tls_cert is None) is not (settings.tls_key is None):
        raise SettingsError("tls-cert and tls-key belong together: give both.")
    if settings.tls_client_ca is not None and settings.tls_cert is None:
        raise SettingsError("tls-client-ca needs tls-cert and tls-key.")
    if settings.credentials is not None and not os.access(settings.credentials, os.R_OK):
        raise SettingsError(f"Cannot read the credentials file {settings.credentials}.")


def _is_outside(folder: Path | None, directory: Path) -> bool:
    return folder is not None and not folder.resolve().is_relative_to(directory.resolve())
