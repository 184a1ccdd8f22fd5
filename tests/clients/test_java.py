"""A session with the AWS SDK for Java v2; `make clients-java` runs it: it needs Java and Maven."""

import pathlib
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).parent / "java"


@pytest.mark.java
def test_a_session_with_pages_and_typed_errors(tool_directory, environment):
    home = tool_directory("java-sdk-2")
    shutil.copytree(SOURCE, home, dirs_exist_ok=True)
    maven = ["mvn", "--quiet", "--batch-mode"]
    copy = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
    subprocess.run([*maven, "compile", copy], cwd=home, check=True)
    path = f"{home}/target/classes:{home}/target/dependency/*"
    done = subprocess.run(
        ["java", "-cp", path, "Session"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
