"""Run a checkout of nubo-db/dynamodb-conformance against Hashrange and judge the outcome.

    python -m tests.conformance CHECKOUT [--url URL] [vitest arguments]

The suite (vitest, AWS SDK for JavaScript) is installed in its checkout when that has no
node_modules yet, and runs unchanged against a fresh server in memory. Failures listed in
`suite_differences` are expected; the run fails on any other, and on listed tests that pass.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from tests.cassandra_nodes.serving import server_on
from tests.conformance.suite_differences import EXPECTED


def arguments() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog="tests.conformance", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=__doc__,
    )  # fmt: skip
    parser.add_argument("checkout", type=pathlib.Path, nargs="?", help="directory of the suite")
    parser.add_argument("--url", help="a running server (default: start one)")
    parser.add_argument(
        "--engine",
        choices=("memory", "cassandra"),
        default="memory",
        help="of the server that is started; cassandra starts a node, too (Java 17, Maven)",
    )
    options, rest = parser.parse_known_args()
    if options.checkout is None:
        parser.error(
            "name a checkout of the suite, as in: make conformance SUITE=../dynamodb-conformance "
            "(git clone https://github.com/nubo-db/dynamodb-conformance)"
        )
    if not (options.checkout / "vitest.config.ts").exists():
        parser.error(f"{options.checkout} is not a checkout of dynamodb-conformance")
    return options, rest


def install(checkout: pathlib.Path) -> None:
    """Install the suite's packages unless they are there."""
    if shutil.which("npm") is None:
        sys.exit("the suite needs Node.js with npm")
    if not (checkout / "node_modules").exists():
        command = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"]
        subprocess.run(command, cwd=checkout, check=True)


def run_suite(checkout: pathlib.Path, url: str, rest: list[str]) -> dict[str, tuple[str, str]]:
    """Return outcome and first line of the message of every test."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    environment |= {
        "DYNAMODB_ENDPOINT": url,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "secret",
    }
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "report.json"
        command = ["npx", "vitest", "run", "--reporter=json", f"--outputFile={report}", *rest]
        subprocess.run(command, cwd=checkout, env=environment, stdout=subprocess.DEVNULL)
        if not report.exists():
            sys.exit("vitest wrote no report; run it by hand in the checkout to see why")
        files = json.loads(report.read_text())["testResults"]
    found = {}
    for file in files:
        path = file["name"].rpartition("/tests/")[2]
        for test in file["assertionResults"]:
            message = "\n".join(test.get("failureMessages") or ()).partition("\n")[0]
            found[f"{path}::{test['fullName'].strip()}"] = (test["status"], message)
    return found


def show_folders(found: dict[str, tuple[str, str]]) -> None:
    """Print how many tests of each folder passed, failed and were skipped."""
    rows: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for name, (status, _) in found.items():
        for title in ("/".join(name.split("/")[:2]), "total"):
            rows[title]["skipped" if status not in ("passed", "failed") else status] += 1
    sys.stdout.write(f"{'':30}{'passed':>8}{'failed':>8}{'skipped':>9}\n")
    for name in sorted(rows, key=lambda title: (title == "total", title)):
        row = rows[name]
        sys.stdout.write(f"{name:30}{row['passed']:8}{row['failed']:8}{row['skipped']:9}\n")


def judge(found: dict[str, tuple[str, str]]) -> int:
    """Compare with the expected differences; return the exit status."""
    status = 0
    for name, (outcome, message) in found.items():
        expected = next((e for e in EXPECTED if name.startswith(e.test)), None)
        if outcome == "passed":
            if expected and expected.is_single:
                sys.stdout.write(f"passes now, take it off the list: {name}\n")
                status = 1
        elif expected is None:
            sys.stdout.write(f"unexpected: {name} {outcome}\n    {message}\n")
            status = 1
    reasons = collections.Counter(
        next((e.reason for e in EXPECTED if name.startswith(e.test)), "unexpected")
        for name, (outcome, _) in found.items()
        if outcome != "passed"
    )
    for reason, count in reasons.most_common():
        sys.stdout.write(f"{count:5} {reason}\n")
    return status


def main() -> int:
    options, rest = arguments()
    checkout = options.checkout.resolve()
    install(checkout)
    with contextlib.ExitStack() as stack:
        url = options.url or stack.enter_context(server_on(options.engine))
        found = run_suite(checkout, url, rest)
    show_folders(found)
    return judge(found)


if __name__ == "__main__":
    sys.exit(main())
