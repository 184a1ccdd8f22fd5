"""Fetch DynamoDB Local from Maven Central into the user's cache, and run it.

DynamoDB Local comes under its own licence and stays outside this repository.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator

from tests.harness.server import free_port, running

VERSION = "3.3.1"
# DynamoDB Local loads its usage reporting even when that is switched off; this release of the SDK
# has all modules it asks for.
SDK_VERSION = "2.54.15"
MAIN_CLASS = "software.amazon.dynamodb.services.local.main.ServerRunner"
PROJECT = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>hashrange.tests</groupId><artifactId>local</artifactId><version>1</version>
  <dependencyManagement><dependencies><dependency>
    <groupId>software.amazon.awssdk</groupId><artifactId>bom</artifactId>
    <version>{SDK_VERSION}</version><type>pom</type><scope>import</scope>
  </dependency></dependencies></dependencyManagement>
  <dependencies><dependency>
    <groupId>software.amazon.dynamodb</groupId><artifactId>DynamoDBLocal</artifactId>
    <version>{VERSION}</version>
  </dependency></dependencies>
</project>
"""


def cache_directory() -> pathlib.Path:
    """Return where the jars are kept between runs."""
    root = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(root) / "hashrange-tests" / f"dynamodb-local-{VERSION}-{SDK_VERSION}"


def fetch() -> pathlib.Path:
    """Return the directory of the jars and native libraries, fetched when not there yet."""
    home = cache_directory()
    if (home / "complete").exists():
        return home / "lib"
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            sys.exit(f"DynamoDB Local needs Java 17 or later and Maven: {program} is not installed")
    home.mkdir(parents=True, exist_ok=True)
    (home / "pom.xml").write_text(PROJECT)
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=lib"]
    subprocess.run(["mvn", "-q", "-B", *goal], cwd=home, check=True)
    (home / "complete").touch()
    return home / "lib"


@contextlib.contextmanager
def dynamodb_local() -> Iterator[str]:
    """Run DynamoDB Local in memory; yields its URL."""
    library, port = fetch(), free_port()
    command = ["java", "-Xmx512m", f"-Djava.library.path={library}", "-cp", f"{library}/*"]
    flags = ["-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port)]
    with running([*command, MAIN_CLASS, *flags], port) as url:
        yield url
