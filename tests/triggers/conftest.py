"""Servers with triggers, spoken to with boto3."""

import json
import time
from http.client import HTTPConnection

import boto3
import pytest
from botocore.config import Config

from hashrange.testing import serve
from tests.harness.engines import memory_plays

WAIT_SECONDS_MAX = 20.0
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/lambda/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=00"
)


class Site:
    """A server, and what tests want of it."""

    def __init__(self, url):
        self.url = url
        self.dynamodb = self.client("dynamodb")
        self.triggers = self.client("lambda")

    def client(self, service):
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
            config=Config(retries={"max_attempts": 1}),
        )

    def request(self, method, path, body=None, **headers):
        """Send a request as it is; return status, headers and document."""
        connection = HTTPConnection(self.url.removeprefix("http://"), timeout=WAIT_SECONDS_MAX)
        try:
            lines = {"Authorization": AUTHORIZATION, "X-Amz-Date": "20260101T000000Z"}
            lines |= {name.replace("_", "-"): value for name, value in headers.items()}
            lines = {name: value for name, value in lines.items() if value is not None}
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, lines)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), json.loads(response.read())
        finally:
            connection.close()

    def register(self, name, **members):
        status, _, document = self.request("PUT", f"/_hashrange/functions/{name}", members)
        assert status == 200, document
        return document

    def create_table(self, name, stream=True):
        """Create a table and return the ARN of its stream."""
        described = self.dynamodb.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification=STREAM if stream else {"StreamEnabled": False},
        )
        return described["TableDescription"].get("LatestStreamArn")


@pytest.fixture(scope="module", params=["memory", "cluster"])
def site(request):
    with memory_plays(request.param), serve() as server:
        yield Site(server.endpoint_url)


def eventually(condition):
    """Wait until a condition holds, within bounds."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.005)
