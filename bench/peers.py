"""Install the peers that Hashrange is measured against, outside of the repository's own files.

    python -m bench.peers [DIRECTORY]        (default: $BENCH_PEERS or .bench-peers)

Needs npm for Dynoxide, ExtendDB and dynalite, and Java 17 with Maven for DynamoDB Local; what
cannot be installed is left out with a word.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

from bench.servers import PEERS

_NPM_PACKAGES = ["@dynoxide/linux-x64", "@extenddb/linux-x64", "dynalite"]
_DYNAMODB_LOCAL_VERSION = "3.1.0"
_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>bench</groupId><artifactId>peers</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>software.amazon.dynamodb</groupId><artifactId>DynamoDBLocal</artifactId>
    <version>{_DYNAMODB_LOCAL_VERSION}</version>
  </dependency></dependencies>
</project>
"""


def install_npm_packages(folder: Path) -> None:
    for package in _NPM_PACKAGES:
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), package]
        subprocess.run(command, check=True)


def install_dynamodb_local(folder: Path) -> None:
    target = folder / "dynamodb-local"
    target.mkdir(exist_ok=True)
    (target / "pom.xml").write_text(_POM)
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={target / 'lib'}"]
    subprocess.run(["mvn", "-q", "-B", "-f", str(target / "pom.xml"), *goal], check=True)


def install_moto(folder: Path) -> None:
    venv.create(folder / "moto", with_pip=True)
    pip = str(folder / "moto/bin/pip")
    subprocess.run([pip, "install", "--quiet", "moto[server,dynamodb]"], check=True)


_STEPS: dict[str, Callable[[Path], None]] = {
    "Dynoxide, ExtendDB, dynalite": install_npm_packages,
    "DynamoDB Local": install_dynamodb_local,
    "moto": install_moto,
}


def main() -> None:
    folder = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else PEERS
    folder.mkdir(parents=True, exist_ok=True)
    failed = []
    for names, step in _STEPS.items():
        sys.stdout.write(f"Installing {names} into {folder}\n")
        try:
            step(folder)
        except (OSError, subprocess.CalledProcessError) as error:
            failed.append(names)
            sys.stdout.write(f"  left out: {error}\n")
    if failed:
        sys.exit(f"Not installed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
