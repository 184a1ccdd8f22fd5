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
    copy = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
    subprocess.run(["mvn", "--quiet", "--batch-mode", copy], cwd=home, check=True)
    # Java compiles a single file by itself.
    program = ["-Dfile.encoding=UTF-8", "-cp", "target/dependency/*", "Session.java"]
    done = subprocess.run(
        ["java", *program], cwd=home, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
