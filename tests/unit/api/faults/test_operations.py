"""The rules of fault injection on the operators' path, over HTTP."""

import json
import urllib.error
import urllib.request

import pytest

from hashrange.api.access.rows import demands_of
from hashrange.api.scope import IN_PROCESS, RequestScope
from hashrange.testing import serve
from tests.harness.calls import authorization

RULE = {"Kind": "throttle", "Table": "things", "Rate": 0.5, "Seconds": 1.0, "Times": 3}


def call(server, method, document=None):
    """Return the status and the document that the path answers with."""
    request = urllib.request.Request(
        f"{server.endpoint_url}/_hashrange/faults",
        None if document is None else json.dumps(document).encode(),
        {"Authorization": authorization("hashrange"), "X-Amz-Date": "20260101T000000Z"},
        method=method,
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_rules_are_replaced_described_and_taken_away():
    with serve(faults=True) as server:
        status, answered = call(server, "PUT", {"Rules": [RULE], "Seed": 5})
        assert (status, answered) == (200, {"Seed": 5, "Rules": [RULE]})
        assert call(server, "GET") == (200, {"Seed": 5, "Rules": [RULE]})
        assert call(server, "DELETE") == (200, {})
        assert call(server, "GET")[1]["Rules"] == []
        for wrong in ({"Kind": "fail", "Rate": 1.5}, {"Kind": "delay", "Seconds": 1000.0}):
            status, answered = call(server, "PUT", {"Rules": [wrong]})
            assert status == 400, answered
        assert call(server, "PUT", {"Rules": [{"Kind": "explode"}]})[0] == 400


def test_a_server_without_fault_injection_refuses():
    with serve() as server:
        status, answered = call(server, "PUT", {"Rules": [RULE]})
        assert status == 403
        assert "--faults" in answered["Message"]


@pytest.mark.parametrize("operation", ["PutFaults", "GetFaults", "DeleteFaults"])
def test_a_guarded_server_asks_for_permission(operation):
    scope = RequestScope(b"", IN_PROCESS, b"")
    scope.service, scope.operation = "hashrange", operation
    (demand,) = demands_of(scope, {})
    assert (demand.action, demand.resource) == (f"hashrange:{operation}", "*")
