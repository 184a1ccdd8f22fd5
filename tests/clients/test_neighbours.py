"""Neighbour services with the AWS CLI and the SDKs for JavaScript, Go and Java.

`make clients`, `make clients-go` and `make clients-java` run those that need something installed.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import boto3
import pytest

HERE = pathlib.Path(__file__).parent
PACKAGES = ("@aws-sdk/client-cloudwatch@3", "@aws-sdk/client-sts@3")
GO_MODULE = "module neighbours\n\ngo 1.22\n"


@pytest.fixture
def aws(environment):
    """Run `aws ...`; returns its JSON, or its complaint when it fails."""

    def run(*arguments):
        command = [sys.executable, "-m", "awscli", *arguments, "--output", "json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        return json.loads(done.stdout or "{}") if done.returncode == 0 else done.stderr.strip()

    return run


def test_the_cli_is_told_who_calls(aws):
    identity = aws("sts", "get-caller-identity")
    assert identity["Arn"] == f"arn:aws:iam::{identity['Account']}:root"


def test_the_cli_lists_no_metrics_and_is_refused_what_is_not_served(aws):
    assert aws("cloudwatch", "list-metrics", "--namespace", "Nowhere") == {"Metrics": []}
    assert "UnknownOperationException" in aws("cloudwatch", "list-metric-streams")
    assert "InvalidAction" in aws("iam", "list-server-certificates")


def test_the_cli_measures_and_watches(aws):
    where = ("--namespace", "Cli", "--metric-name", "Sales")
    aws("cloudwatch", "put-metric-data", *where, "--value", "2.5", "--dimensions", "Store=a")
    (listed,) = aws("cloudwatch", "list-metrics", "--namespace", "Cli")["Metrics"]
    assert listed["Dimensions"] == [{"Name": "Store", "Value": "a"}]
    rules = ("--statistic", "Sum", "--period", "60", "--evaluation-periods", "1")
    limit = ("--threshold", "9", "--comparison-operator", "GreaterThanThreshold")
    aws("cloudwatch", "put-metric-alarm", "--alarm-name", "cli", *where, *rules, *limit)
    state = ("--state-value", "ALARM", "--state-reason", "a test")
    aws("cloudwatch", "set-alarm-state", "--alarm-name", "cli", *state)
    (alarm,) = aws("cloudwatch", "describe-alarms", "--alarm-names", "cli")["MetricAlarms"]
    assert (alarm["AlarmName"], alarm["Threshold"]) == ("cli", 9.0)


def node_project(home, packages):
    """Have packages of npm in a directory."""
    if not (home / "complete").exists():
        (home / "package.json").write_text('{"private": true}')
        flags = ["--no-audit", "--no-fund", "--no-package-lock", "--silent"]
        subprocess.run(["npm", "install", *flags, *packages], cwd=home, check=True)
        (home / "complete").touch()
    return home


@pytest.mark.npm
def test_the_sdk_for_javascript(tool_directory, environment):
    home = node_project(tool_directory("javascript-sdk-3-neighbours"), PACKAGES)
    script = shutil.copy(HERE / "neighbours.mjs", home)
    expect_success(["node", "--no-warnings", script], home, environment)


@pytest.mark.npm
def test_the_sdk_for_javascript_uploads_streams_and_large_files(tool_directory, environment):
    packages = ("@aws-sdk/client-s3@3.1164.0", "@aws-sdk/lib-storage@3.1164.0")
    home = node_project(tool_directory("javascript-sdk-3-s3"), packages)
    script = shutil.copy(HERE / "uploads.mjs", home)
    expect_success(["node", "--no-warnings", script], home, environment)


@pytest.mark.go
def test_the_sdk_for_go(tool_directory, environment):
    home = tool_directory("go-sdk-2-neighbours")
    shutil.copy(HERE / "go_neighbours" / "neighbours.go", home)
    if not (home / "go.sum").exists():
        (home / "go.mod").write_text(GO_MODULE)
        subprocess.run(["go", "mod", "tidy"], cwd=home, check=True)
    subprocess.run(["go", "build", "-o", "neighbours", "."], cwd=home, check=True)
    expect_success([home / "neighbours"], home, environment)


@pytest.mark.java
def test_the_sdk_for_java(tool_directory, environment):
    home = tool_directory("java-sdk-2-neighbours")
    shutil.copytree(HERE / "java_neighbours", home, dirs_exist_ok=True)
    copy = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
    subprocess.run(["mvn", "--quiet", "--batch-mode", copy], cwd=home, check=True)
    program = ["-Dfile.encoding=UTF-8", "-cp", "target/dependency/*", "Neighbours.java"]
    expect_success(["java", *program], home, environment)


def expect_success(command, home, environment):
    """Run a program, which ends with an error at the first surprise."""
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.npm
def test_the_cost_optimizer_of_the_design_standards(tool_directory, environment, url):
    home = node_project(tool_directory("javascript-sdk-2"), ["aws-sdk@2"])
    options = {
        "endpoint_url": url,
        "region_name": "us-east-1",
        "aws_access_key_id": environment["AWS_ACCESS_KEY_ID"],
        "aws_secret_access_key": environment["AWS_SECRET_ACCESS_KEY"],
    }
    dynamodb = boto3.client("dynamodb", **options)
    dynamodb.create_table(
        TableName="Optimized",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "a", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "a", "KeyType": "HASH"}],
    )
    item = {"a": {"S": "1"}, "text": {"S": "x" * 9000}}  # three read units
    dynamodb.put_item(TableName="Optimized", Item=item)
    for _ in range(20):
        dynamodb.get_item(TableName="Optimized", Key={"a": {"S": "1"}}, ConsistentRead=True)
    script = shutil.copy(HERE / "cost_optimizer.js", home)
    expect_success(["node", "--no-warnings", script], home, environment)
