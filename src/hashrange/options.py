"""The table of all settings: their names, kinds and help texts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

ENVIRONMENT_PREFIX: Final = "HASHRANGE_"

_NAME: Final = r"([a-z0-9_.-]+|\[[0-9a-f:.]+\])"

# Settings that say something about a Cassandra cluster.
CLUSTER_FIELDS: Final = (
    "contact_points",
    "cassandra_port",
    "keyspace",
    "replication",
    "datacenter",
    "cassandra_user",
    "cassandra_password_file",
    "cassandra_ca",
    "table_shards",
    "allow_periodic_commit_log",
)


class Kind(Enum):
    """How a setting is written."""

    TEXT = "text"
    PATH = "path"
    # A path, or a place in an S3 service such as s3://bucket/prefix, which stays a text.
    PLACE = "place"
    COUNT = "number"
    SECONDS = "seconds"
    SWITCH = "switch"
    # Several texts: a repeated flag, a list in the file, commas between them in the environment.
    TEXTS = "texts"


@dataclass(frozen=True, slots=True)
class Option:
    """How one setting is given and what it is for."""

    name: str
    kind: Kind
    help: str
    choices: tuple[str, ...] = ()
    lowest: int = 0
    highest: int = 1_000_000
    # What the text, or each of several, looks like, and an example of it.
    pattern: str = ""
    example: str = ""

    @property
    def field(self) -> str:
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        return ENVIRONMENT_PREFIX + self.field.upper()


OPTIONS: Final = (
    Option("host", Kind.TEXT, "address to listen on"),
    Option("port", Kind.COUNT, "port to listen on; 0 takes a free one", highest=65535),
    Option("data-dir", Kind.PATH, "directory the data is kept in; made if it is not there"),
    Option(
        "backup-dir",
        Kind.PLACE,
        "directory of backups of tables, best on another disk, or s3://BUCKET/PREFIX; beside the "
        "data if it is not set",
    ),
    Option("in-memory", Kind.SWITCH, "keep everything in memory and nothing on disk"),
    Option(
        "engine",
        Kind.TEXT,
        "where the data is kept: 'sqlite' in data-dir, 'cassandra' in a cluster",
        choices=("sqlite", "cassandra"),
    ),
    Option(
        "contact-points",
        Kind.TEXTS,
        "address of a Cassandra node to begin with; may be repeated",
        pattern=_NAME,
        example="10.0.0.1",
    ),
    Option("cassandra-port", Kind.COUNT, "port of the Cassandra nodes", lowest=1, highest=65535),
    Option(
        "keyspace",
        Kind.TEXT,
        "keyspace in Cassandra; made if it is not there",
        pattern="[a-z][a-z0-9_]{0,47}",
        example="hashrange_2",
    ),
    Option("replication", Kind.COUNT, "replicas that Cassandra keeps", lowest=1, highest=9),
    Option("datacenter", Kind.TEXT, "data centre of the Cassandra nodes to use"),
    Option("cassandra-user", Kind.TEXT, "user to log in to Cassandra with"),
    Option("cassandra-password-file", Kind.PATH, "file with the password of that user"),
    Option(
        "cassandra-ca", Kind.PATH, "certificates that sign those of the nodes; turns on TLS to them"
    ),
    Option(
        "table-shards",
        Kind.COUNT,
        "partitions in Cassandra that a new table is spread over",
        lowest=1,
        highest=4096,
    ),
    Option(
        "allow-periodic-commit-log",
        Kind.SWITCH,
        "accept Cassandra nodes that acknowledge writes before they are on disk",
    ),
    Option(
        "workers",
        Kind.COUNT,
        "processes that share the port and the data; 0 means one per core, at most four",
        highest=1000,
    ),
    Option(
        "durability",
        Kind.TEXT,
        "what an acknowledged write survives: 'full' a power loss, 'relaxed' a crash of the server",
        choices=("full", "relaxed"),
    ),
    Option(
        "table-delay",
        Kind.SECONDS,
        "seconds that tables and indexes take to change state",
        highest=3600,
    ),
    Option("realistic", Kind.SWITCH, "let tables and indexes change state as slowly as AWS does"),
    Option(
        "capacity",
        Kind.TEXT,
        "what throttles requests: 'provisioned' capacity and configured maxima, all that 'aws' "
        "limits, or nothing ('off'); realistic makes it 'aws'",
        choices=("provisioned", "aws", "off"),
    ),
    Option(
        "ttl-delay",
        Kind.SECONDS,
        "seconds that expired items stay before time to live deletes them",
        highest=604_800,
    ),
    Option("credentials", Kind.PATH, "TOML file of access keys; signatures are verified with it"),
    Option(
        "auth",
        Kind.SWITCH,
        "verify signatures and obey IAM policies; the first start makes an administrator",
    ),
    Option(
        "key-file",
        Kind.PATH,
        "file with the server's key, which encrypts the data directory",
    ),
    Option(
        "key-command",
        Kind.TEXT,
        "command that prints the server's key, such as that of a vault",
    ),
    Option("tls-cert", Kind.PATH, "file with the certificate of the server, and its chain, in PEM"),
    Option("tls-key", Kind.PATH, "file with the private key of that certificate, in PEM"),
    Option(
        "tls-client-ca",
        Kind.PATH,
        "file with certificates; clients need one that was signed by one of these",
    ),
    Option("insecure", Kind.SWITCH, "accept anybody, also from other machines"),
    Option(
        "cors-origin",
        Kind.TEXTS,
        "origin whose web pages may use the server; may be repeated",
        pattern=rf"https?://{_NAME}(:[0-9]{{1,5}})?",
        example="https://app.example.com",
    ),
    Option(
        "allowed-host",
        Kind.TEXTS,
        "host name that a server without credentials answers to besides loopback; may be repeated",
        pattern=_NAME,
        example="db.example.com",
    ),
    Option("allow-functions", Kind.SWITCH, "let requests register functions, which run programs"),
    Option("faults", Kind.SWITCH, "let requests to /_hashrange/faults inject faults, for tests"),
    Option(
        "bucket-dir",
        Kind.PATH,
        "directory that stands for S3 buckets, for exports and imports; beside the data if not set",
    ),
    Option(
        "plain-buckets",
        Kind.SWITCH,
        "do not encrypt the files of bucket-dir, for other programs to read, although there is a "
        "key",
    ),
    Option(
        "s3-endpoint",
        Kind.TEXT,
        "address of an S3 service for exports and imports, in place of the directory of buckets",
        example="https://s3.example.com",
    ),
    Option("s3-region", Kind.TEXT, "region of the S3 service"),
    Option(
        "s3-credentials",
        Kind.PATH,
        "file with the access key of the S3 service, as the AWS CLI keeps it; else as the CLI does",
    ),
    Option("max-connections", Kind.COUNT, "connections per worker", lowest=1),
    Option("max-in-flight", Kind.COUNT, "unfinished requests per worker", lowest=1),
    Option("idle-timeout", Kind.COUNT, "seconds after which an idle connection is closed", (), 1),
    Option("stop-timeout", Kind.COUNT, "seconds a stop waits for requests that are under way"),
    Option(
        "audit",
        Kind.TEXT,
        "calls that leave a record: 'auto' is 'management' with credentials and 'off' without",
        choices=("auto", "off", "management", "all"),
    ),
    Option(
        "audit-file",
        Kind.PATH,
        "file that records are appended to, '-' for standard output; beside the data if not set",
    ),
    Option(
        "metrics",
        Kind.TEXT,
        "whether requests are measured, for CloudWatch, alarms and Prometheus",
        choices=("on", "off"),
    ),
    Option(
        "otlp-endpoint",
        Kind.TEXT,
        "OpenTelemetry collector that gets spans and metrics, such as http://127.0.0.1:4318",
    ),
    Option(
        "slow-request-ms",
        Kind.COUNT,
        "milliseconds from which a request is logged as slow; 0 logs none",
    ),
    Option(
        "wasteful-ratio",
        Kind.COUNT,
        "items examined for each one returned, from which a request is logged; 0 logs none",
    ),
    Option(
        "log-level",
        Kind.TEXT,
        "least important messages to log; 'debug' includes every request",
        choices=("debug", "info", "warning", "error"),
    ),
    Option("log-format", Kind.TEXT, "how messages are logged", choices=("human", "json")),
)
