"""The stages run in their order for every service and protocol, and refusals end them."""

import asyncio
import json
import socket
import threading
from contextlib import contextmanager
from http.client import HTTPConnection

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError as BotoError

from hashrange.app.application import Application
from hashrange.clock import SystemClock
from hashrange.config import Settings
from hashrange.errors import AccessDeniedException, ThrottlingException
from hashrange.wire.auth.sigv4 import OpenDoor
from hashrange.wire.http.listener import SharedListener
from hashrange.wire.stages import Stages

WAIT_SECONDS_MAX = 20.0
STAGES = ["authenticate", "authorise", "admit", "record"]


class Watch:
    """All stages in one: notes the order of calls, and refuses at the stage a test names."""

    def __init__(self):
        self.door = OpenDoor()
        self.waits = False
        self.refuses = None
        self.calls = []
        self.scopes = []

    def authenticate(self, request, signing_name):
        self.calls.append("authenticate")
        identity = self.door.authenticate(request, signing_name)
        return self._later(identity) if self.waits else identity

    def authorise(self, scope, request):
        assert isinstance(request, dict)
        return self._pass("authorise", AccessDeniedException("no"))

    def admit(self, scope, request):
        return self._pass("admit", ThrottlingException("slow down"))

    def record(self, scope):
        self.calls.append("record")
        self.scopes.append(scope)

    def _pass(self, stage, refusal):
        self.calls.append(stage)
        if self.refuses == stage:
            raise refusal
        return self._later(None) if self.waits else None

    async def _later(self, result):
        await asyncio.sleep(0)
        return result


class Site:
    """A server with these stages in a thread, and clients of it."""

    def __init__(self, port, watch):
        self.port = port
        self.watch = watch

    def client(self, service):
        return boto3.client(
            service,
            endpoint_url=f"http://127.0.0.1:{self.port}",
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
            config=Config(retries={"total_max_attempts": 1}),
        )


@contextmanager
def running(watch):
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def wait_for(call):
        return asyncio.run_coroutine_threadsafe(call, loop).result(WAIT_SECONDS_MAX)

    settings = Settings(in_memory=True, stop_timeout=1)
    application = Application(settings, Stages(watch, watch, watch, [watch]), SystemClock())
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        wait_for(application.start(SharedListener(listening)))
        try:
            yield Site(port, watch)
        finally:
            wait_for(application.stop())
            loop.call_soon_threadsafe(loop.stop)
            thread.join(WAIT_SECONDS_MAX)
            loop.close()


@pytest.fixture(scope="module")
def shared_site():
    with running(Watch()) as site:
        yield site


@pytest.fixture
def site(shared_site):
    watch = shared_site.watch
    watch.calls.clear()
    watch.scopes.clear()
    watch.waits = False
    watch.refuses = None
    return shared_site


CALLS = [
    ("dynamodb", "list_tables", "dynamodb", "ListTables"),
    ("dynamodbstreams", "list_streams", "dynamodbstreams", "ListStreams"),
    ("lambda", "list_event_source_mappings", "lambda", "ListEventSourceMappings"),
    ("sts", "get_caller_identity", "sts", "GetCallerIdentity"),
    ("cloudwatch", "list_metrics", "cloudwatch", "ListMetrics"),
]


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize(("client", "method", "service", "operation"), CALLS)
def test_all_stages_run_in_order(site, client, method, service, operation, waits):
    site.watch.waits = waits
    getattr(site.client(client), method)()
    assert site.watch.calls == STAGES
    (scope,) = site.watch.scopes
    assert (scope.service, scope.operation, scope.error) == (service, operation, "")
    assert (scope.status, scope.source_address, scope.access_key) == (200, "127.0.0.1", "local")


@pytest.mark.parametrize(
    ("stage", "code"),
    [("authorise", "AccessDeniedException"), ("admit", "ThrottlingException")],
)
@pytest.mark.parametrize(("client", "method", "service", "operation"), CALLS)
def test_a_refusal_ends_the_stages_and_is_recorded(
    site, client, method, service, operation, stage, code
):
    site.watch.refuses = stage
    with pytest.raises(BotoError) as caught:
        getattr(site.client(client), method)()
    # The query protocol, and clients that understand it, have shorter codes.
    is_short = service in ("sts", "cloudwatch")
    shown = code.removesuffix("Exception") if is_short else code
    assert caught.value.response["Error"]["Code"] == shown
    (scope,) = site.watch.scopes
    assert (scope.service, scope.operation, scope.error) == (service, operation, code)
    assert site.watch.calls == [*STAGES[: STAGES.index(stage) + 1], "record"]


def test_a_request_without_a_signature_gets_no_further(site):
    connection = HTTPConnection("127.0.0.1", site.port)
    headers = {
        "X-Amz-Target": "DynamoDB_20120810.ListTables",
        "Content-Type": "application/x-amz-json-1.0",
    }
    connection.request("POST", "/", b"{}", headers)
    response = connection.getresponse()
    kind = json.loads(response.read())["__type"]
    connection.close()
    assert kind == "com.amazon.coral.service#MissingAuthenticationTokenException"
    assert site.watch.calls == ["authenticate", "record"]
    assert site.watch.scopes[0].account == ""
