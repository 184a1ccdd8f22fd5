"""Command line of the differential test: python -m tests.differential [--seed S] [--count N]."""

import argparse
import contextlib
import json
import sys
import time

from tests.cassandra_nodes.serving import server_on
from tests.differential import explained, local
from tests.differential.run import ROUND_REQUESTS, Report, Run
from tests.harness import server
from tests.harness.endpoint import Endpoint


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="differential", description=__doc__)
    parser.add_argument("--seed", default=None, help="repeat the run with this seed")
    parser.add_argument("--count", type=int, default=5000, help="requests to send (default 5000)")
    parser.add_argument("--only", help="send only this operation")
    parser.add_argument("--url", help="a running Hashrange (default: start one in memory)")
    parser.add_argument("--local-url", help="a running DynamoDB Local (default: start one)")
    parser.add_argument(
        "--engine",
        choices=("memory", "cassandra"),
        default="memory",
        help="of the Hashrange that is started; on cassandra it is compared with one in memory",
    )
    parser.add_argument("--json", help="write the findings to this file as well")
    parser.add_argument("--limit", type=int, default=60, help="findings to print (default 60)")
    return parser.parse_args()


def show(report: Report, limit: int) -> None:
    """Print what was sent and what differed."""
    write = sys.stdout.write
    for operation, count in sorted(report.requests.items()):
        write(f"{operation:22}{count:7} sent, {report.succeeded[operation]:6} succeeded on Local\n")
    reasons = {rule.name: rule.reason for rule in (*explained.ADJUSTMENTS, *explained.RULES)}
    for name, count in report.explained.most_common():
        write(f"explained {count:6}  {name}: {reasons[name]}\n")
    found = sorted(report.findings.values(), key=lambda finding: -finding.seen)
    for finding in found[:limit]:
        write(f"\n--- {finding.operation}, {finding.seen} times\n{finding.sentence}\n")
        write(f"request: {json.dumps(finding.body, ensure_ascii=False)}\n")
        if finding.before is not None:
            write(f"item before: {json.dumps(finding.before, ensure_ascii=False)}\n")
    write(f"\n{len(found)} kinds of unexplained difference\n")


def main() -> int:
    options = arguments()
    seed = options.seed or f"{time.time_ns():x}"
    with contextlib.ExitStack() as stack:
        # Another engine has to answer like the embedded ones do, whatever DynamoDB Local says.
        peer = local.dynamodb_local if options.engine == "memory" else server.hashrange
        local_url = options.local_url or stack.enter_context(peer())
        url = options.url or stack.enter_context(server_on(options.engine))
        run = Run(Endpoint(local_url), Endpoint(url), seed, options.only)
        sys.stdout.write(f"seed {seed}\n")
        sent = 0
        while sent < options.count:
            step = min(ROUND_REQUESTS, options.count - sent)
            run.round(step)
            sent += step
    show(run.report, options.limit)
    if options.json:
        with open(options.json, "w") as file:
            findings = [vars(finding) for finding in run.report.findings.values()]
            json.dump(findings, file, indent=1, ensure_ascii=False)
    return 1 if run.report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
