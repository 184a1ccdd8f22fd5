"""The commands of `hashrange design` that run or compute something: test, cost, report and so on.

Whatever a command needs is imported when it runs.
"""

from __future__ import annotations

import argparse
import secrets
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hashrange.cli.outputs import write

if TYPE_CHECKING:
    from hashrange.toolkit.checker.sources import Source
    from hashrange.toolkit.cost.series import Series

AddVerb = Callable[[Any, str, str], argparse.ArgumentParser]


def add_verbs(verbs: Any, add_verb: AddVerb) -> None:
    """Add the parsers of the commands."""
    test = add_verb(verbs, "test", "run every access pattern on generated data")
    test.add_argument(
        "--items", metavar="N", type=int, default=500, help="items per entity at most"
    )
    test.add_argument("--calls", metavar="N", type=int, default=20, help="calls per pattern")
    test.add_argument("--arguments", metavar="FILE", help="TOML: arguments by pattern")
    test.add_argument(
        "--endpoint",
        "--endpoint-url",
        metavar="URL",
        help="a service to use instead of this process",
    )
    test.add_argument("--region", metavar="NAME", default="us-east-1")
    _add_output(test, "text", "json")
    _add_prices(test)
    cost = add_verb(verbs, "cost", "compare the ways to pay for a design")
    cost.add_argument("--traffic", metavar="FILE", help="JSON: recorded units per second")
    cost.add_argument("--cloudwatch", action="store_true", help="take the traffic from CloudWatch")
    cost.add_argument("--days", metavar="N", type=int, default=14, help="days of recorded traffic")
    cost.add_argument(
        "--endpoint", "--endpoint-url", metavar="URL", help="the endpoint of CloudWatch"
    )
    cost.add_argument("--region", metavar="NAME", default="us-east-1")
    _add_output(cost, "text", "json")
    _add_prices(cost)
    simulate = add_verb(verbs, "simulate", "show partitions, bursts and throttling under a load")
    simulate.add_argument(
        "--shape", choices=("steady", "peak", "ramp", "spike", "day"), default="spike"
    )
    simulate.add_argument("--minutes", metavar="N", type=int, default=30)
    simulate.add_argument(
        "--times", metavar="X", type=float, default=1.0, help="factor on all declared rates"
    )
    simulate.add_argument(
        "--partitions", metavar="N", type=int, default=0, help="partitions to begin with"
    )
    simulate.add_argument(
        "--allow", metavar="SHARE", type=float, default=0.001, help="throttled share that is fine"
    )
    _add_output(simulate, "text", "json")
    report = add_verb(verbs, "report", "write a page about a design")
    _add_output(report, "html", "markdown")
    _add_prices(report)
    watch = add_verb(verbs, "watch", "tie live traffic to the access patterns of a design")
    source = watch.add_mutually_exclusive_group(required=True)
    source.add_argument("--trace", metavar="FILE", help="requests that were recorded")
    source.add_argument("--cloudwatch", action="store_true", help="CloudWatch and its insights")
    watch.add_argument("--minutes", metavar="N", type=int, default=60, help="how far to look back")
    watch.add_argument(
        "--endpoint", "--endpoint-url", metavar="URL", help="the endpoint of both services"
    )
    watch.add_argument("--region", metavar="NAME", default="us-east-1")
    _add_output(watch, "text", "json")
    _add_prices(watch)


def _add_output(verb: argparse.ArgumentParser, *formats: str) -> None:
    verb.add_argument("--format", choices=formats, default=formats[0])
    verb.add_argument("--output", metavar="FILE", help="write to a file, not to standard output")


def _add_prices(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--prices", metavar="FILE", help="prices to use instead of the built-in ones")
    verb.add_argument("--price-region", metavar="NAME", default="us-east-1")


def _test(given: argparse.Namespace, source: Source) -> int:
    from hashrange.toolkit.cost.prices import load_prices
    from hashrange.toolkit.rehearsal import output
    from hashrange.toolkit.rehearsal.rehearse import Settings, rehearse

    arguments = tomllib.loads(Path(given.arguments).read_text("utf-8")) if given.arguments else {}
    prices = load_prices(given.price_region, given.prices)
    # A service may have tables of the same names; a database in this process is fresh.
    prefix = f"design-test-{secrets.token_hex(4)}-" if given.endpoint else ""
    settings = Settings(given.items, given.calls, arguments, prices, prefix=prefix)
    with _client(given) as client:
        rehearsal = rehearse(source.design, client, settings)
    form = output.json_of if given.format == "json" else output.text_of
    write(form(rehearsal), given.output)
    return 0 if rehearsal.holds else 1


def _cost(given: argparse.Namespace, source: Source) -> int:
    from hashrange.toolkit.cost import output
    from hashrange.toolkit.cost.comparison import compare_tables
    from hashrange.toolkit.cost.prices import load_prices

    prices = load_prices(given.price_region, given.prices)
    tables = compare_tables(source.design, _traffic(given, source), prices)
    form = output.json_of if given.format == "json" else output.text_of
    write(form(source.design, tables, prices), given.output)
    return 0


def _simulate(given: argparse.Namespace, source: Source) -> int:
    from hashrange.toolkit.simulate import output
    from hashrange.toolkit.simulate.run import Scenario, simulate

    scenario = Scenario(given.shape, given.minutes, given.times, given.partitions)
    runs = simulate(source.design, scenario)
    form = output.json_of if given.format == "json" else output.text_of
    write(form(source.design.name, runs, scenario), given.output)
    return 1 if any(run.throttled_share > given.allow for run in runs.values()) else 0


def _report(given: argparse.Namespace, source: Source) -> int:
    from hashrange.toolkit.cost.prices import load_prices
    from hashrange.toolkit.report.facts import gather
    from hashrange.toolkit.report.markdown import markdown_of
    from hashrange.toolkit.report.page import html_of

    prices = load_prices(given.price_region, given.prices)
    facts = gather(source.design, prices, datetime.now(UTC).date())
    write(html_of(facts) if given.format == "html" else markdown_of(facts), given.output)
    return 0


def _watch(given: argparse.Namespace, source: Source) -> int:
    from hashrange.toolkit.cost.prices import load_prices
    from hashrange.toolkit.watch import output
    from hashrange.toolkit.watch.analysis import analyse
    from hashrange.toolkit.watch.remarks import remarks_of
    from hashrange.toolkit.watch.trace import read_trace

    if given.cloudwatch:
        return _watch_cloudwatch(given, source)
    traffic = analyse(source.design, read_trace(given.trace))
    remarks = remarks_of(traffic)
    form = output.json_of if given.format == "json" else output.text_of
    write(
        form(traffic, remarks, load_prices(given.price_region, given.prices)),
        given.output,
    )
    return 1 if remarks else 0


def _watch_cloudwatch(given: argparse.Namespace, source: Source) -> int:
    import boto3

    from hashrange.toolkit.watch.cloudwatch import Observer, remarks_on
    from hashrange.toolkit.watch.output import remarks_json, remarks_text

    cloudwatch, dynamodb = (
        boto3.client(service, endpoint_url=given.endpoint, region_name=given.region)
        for service in ("cloudwatch", "dynamodb")
    )
    period = timedelta(minutes=given.minutes)
    observer = Observer(cloudwatch, dynamodb, datetime.now(UTC), period)
    remarks = remarks_on(source.design, observer.count(source.design))
    form = remarks_json if given.format == "json" else remarks_text
    write(form(source.design.name, remarks), given.output)
    return 1 if remarks else 0


def _traffic(given: argparse.Namespace, source: Source) -> dict[str, Series]:
    from hashrange.toolkit.cost import series

    if given.traffic:
        return series.load_series(given.traffic)
    if not given.cloudwatch:
        return series.declared_series(source.design)
    import boto3

    from hashrange.toolkit.cost.recorded import recorded_series

    client = boto3.client("cloudwatch", endpoint_url=given.endpoint, region_name=given.region)
    return recorded_series(source.design, client, datetime.now(UTC), given.days)


@contextmanager
def _client(given: argparse.Namespace) -> Iterator[Any]:
    """Give a boto3 client of the endpoint, or of a fresh database in this process."""
    if given.endpoint:
        import boto3

        yield boto3.client("dynamodb", endpoint_url=given.endpoint, region_name=given.region)
        return
    from hashrange.testing import local

    with local() as database:
        yield database.client()


VERBS: Final[dict[str, Callable[[argparse.Namespace, Source], int]]] = {
    "test": _test,
    "cost": _cost,
    "simulate": _simulate,
    "report": _report,
    "watch": _watch,
}
