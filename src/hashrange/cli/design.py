"""The `hashrange design` commands: check, policy, test, cost, report, simulate, watch.

Exit status: 0 when the design holds, 1 when it does not, 2 for wrong arguments or a design that
contradicts itself. The toolkit is imported when a command runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hashrange import __version__
from hashrange.cli import design_runs
from hashrange.cli.outputs import write

if TYPE_CHECKING:
    from hashrange.toolkit.checker.findings import Finding
    from hashrange.toolkit.checker.sources import Source

_HOLDS, _FAILS, _WRONG = 0, 1, 2
_EXTRA = "this command needs the toolkit: pip install boto3 pyyaml"


def add_commands(commands: Any) -> None:
    """Add the parser of `design` and its subcommands."""
    design = commands.add_parser(
        "design", help="check, test and cost a table design", allow_abbrev=False
    )
    verbs = design.add_subparsers(dest="verb", required=True, metavar="VERB")
    _add_check(verbs)
    _add_policy(verbs)
    design_runs.add_verbs(verbs, _add_verb)


def _add_verb(verbs: Any, name: str, description: str) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = verbs.add_parser(
        name, help=description, description=description, allow_abbrev=False
    )
    verb.add_argument(
        "design", metavar="DESIGN", help="a .toml, .yaml or .json file, or MODULE:NAME"
    )
    return verb


def _add_check(verbs: Any) -> None:
    check = _add_verb(verbs, "check", "hold a design to the design standards")
    check.add_argument("--format", choices=("text", "json", "sarif"), default="text")
    check.add_argument("--fail-on", choices=("error", "warning", "note"), default="error")
    check.add_argument("--output", metavar="FILE", help="write to a file, not to standard output")
    check.add_argument("--verbose", action="store_true", help="explain findings and show notes")
    check.add_argument(
        "--policy", metavar="FILE", help="an IAM policy to compare with the patterns"
    )
    check.add_argument("--code", metavar="PATH", help="Python code to hold to the design")
    check.add_argument("--against", metavar="DESIGN", help="the previous version of the design")


def _add_policy(verbs: Any) -> None:
    policy = _add_verb(verbs, "policy", "write the least-privilege IAM policy of a design")
    policy.add_argument("--account", metavar="ID", help="twelve-digit account id")
    policy.add_argument("--region", metavar="NAME")
    policy.add_argument(
        "--pattern",
        metavar="NAME",
        action="append",
        default=[],
        help="only this pattern; repeatable",
    )
    policy.add_argument("--output", metavar="FILE", help="write to a file, not to standard output")


def run(given: argparse.Namespace) -> int:
    """Carry out a command; return the exit status."""
    try:
        from hashrange.toolkit.checker.sources import load_source
        from hashrange.toolkit.errors import ToolkitError
    except ImportError:
        return _complain(_EXTRA)
    verbs: dict[str, Callable[[argparse.Namespace, Source], int]] = {
        "check": _check,
        "policy": _policy,
        **design_runs.VERBS,
    }
    try:
        return verbs[given.verb](given, load_source(given.design))
    except ImportError as error:
        return _complain(f"{_EXTRA} ({error})")
    except (ToolkitError, OSError, ValueError) as error:
        return _complain(str(error))
    except Exception as error:
        # Those of botocore, which may not be installed and has no common base to name here.
        if type(error).__module__.partition(".")[0] != "botocore":
            raise
        return _complain(str(error))


def _check(given: argparse.Namespace, source: Source) -> int:
    from hashrange.toolkit.checker.check import check_design

    verdict = check_design(source.design, datetime.now(UTC).date(), _extra_findings(given, source))
    name = source.design.name
    if given.format == "json":
        from hashrange.toolkit.checker.json_output import json_of

        text = json_of(verdict, name=name)
    elif given.format == "sarif":
        from hashrange.toolkit.checker.sarif_output import sarif_of

        text = sarif_of(verdict, file=source.file, text=source.text, version=__version__)
    else:
        from hashrange.toolkit.checker.text_output import text_of

        text = text_of(verdict, name=name, verbose=given.verbose)
    write(text, given.output)
    return _FAILS if verdict.fails(given.fail_on) else _HOLDS


def _extra_findings(given: argparse.Namespace, source: Source) -> list[Finding]:
    found: list[Finding] = []
    if given.policy:
        from hashrange.toolkit.checker.policy_rules import check_policy

        found += check_policy(source.design, json.loads(Path(given.policy).read_text("utf-8")))
    if given.code:
        from hashrange.toolkit.checker.code_rules import check_code

        found += check_code(source.design, Path(given.code), Path.cwd())
    if given.against:
        from hashrange.toolkit.checker.evolution_rules import compare_designs
        from hashrange.toolkit.checker.sources import load_source

        found += compare_designs(load_source(given.against).design, source.design)
    return found


def _policy(given: argparse.Namespace, source: Source) -> int:
    from hashrange.toolkit.checker.policy import Account, policy_document

    default = Account()
    account = Account(given.account or default.account_id, given.region or default.region)
    document = policy_document(source.design, account, given.pattern)
    write(json.dumps(document, indent=2) + "\n", given.output)
    return _HOLDS


def _complain(message: str) -> int:
    sys.stderr.write(f"hashrange: {message}\n")
    return _WRONG
