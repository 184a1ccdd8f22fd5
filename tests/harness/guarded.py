"""A database whose requests come from a principal with policies, without signatures."""

import asyncio
import itertools
import json
from typing import Any

from hashrange.api.access.authoriser import PolicyAuthoriser
from hashrange.api.scope import IN_PROCESS, Caller
from hashrange.app.database import Database
from hashrange.clock import VirtualClock
from hashrange.engine.base import Engine
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.policies.documents import Kind, compile_policy
from hashrange.policies.evaluation import Grants
from hashrange.policies.principals import Principal
from hashrange.wire.stages import Stages
from tests.harness.calls import STREAMS, json_request
from tests.harness.identities import key_store

ACCOUNT = "111111111111"
REGION = "us-east-1"
USER = f"arn:aws:iam::{ACCOUNT}:user/ann"
TABLE = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/games"

KEY = {"p": {"S": "a"}, "s": {"S": "1"}}


class Gate:
    """An authenticator that takes every request for one of the caller set."""

    def __init__(self) -> None:
        self.caller = Caller("AKIA", ACCOUNT, USER, REGION, "dynamodb")

    def authenticate(self, request: object, signing_name: str) -> Caller:
        return self.caller


def policy(*statements: dict[str, Any], kind: Kind = Kind.IDENTITY):
    """Return the compiled policy of some statements."""
    document = {"Version": "2012-10-17", "Statement": list(statements)}
    return compile_policy(json.dumps(document), kind)


def allow(action: Any = "*", resource: Any = "*", **members: Any) -> dict[str, Any]:
    """Return an allowing statement."""
    return {"Effect": "Allow", "Action": action, "Resource": resource, **members}


def deny(action: Any = "*", resource: Any = "*", **members: Any) -> dict[str, Any]:
    """Return a denying statement."""
    return {"Effect": "Deny", "Action": action, "Resource": resource, **members}


class GuardedSite:
    """A database with a table of games, and its principal."""

    def __init__(self, *, engine: Engine | None = None) -> None:
        self.gate = Gate()
        engine = engine or MemoryEngine()
        self.keys = key_store(engine)
        stages = Stages(authenticator=self.gate, authoriser=PolicyAuthoriser(None, self.keys))
        self.clock = VirtualClock()
        self.database = Database(
            engine, self.clock, stages=stages, is_shared=True, keyring=self.keys
        )
        self.stream = ""
        self.peer = IN_PROCESS

    def be(self, *statements: dict[str, Any], arn: str = USER, **keys: str) -> None:
        """Take requests for those of a user with these statements from now on."""
        account = arn.split(":")[4]
        known = {"aws:username": arn.rpartition("/")[2], "aws:principalarn": arn, **keys}
        principal = Principal(arn, account, keys=known)
        policies = [policy(*statements)] if statements else []
        grants = Grants(principal, policies)
        self.gate.caller = Caller("AKIA", account, arn, REGION, "dynamodb", grants)

    def be_root(self) -> None:
        """Take requests for those of a server without policies."""
        self.gate.caller = Caller("AKIA", ACCOUNT, USER, REGION, "dynamodb")

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        """Have a request answered; return its document."""
        service = "DynamoDBStreams" if operation in STREAMS else "DynamoDB"
        sent = json_request(f"{service}_20120810.{operation}", json.dumps(request).encode())
        sent.peer = self.peer
        answer = asyncio.run(self.database.answer(sent))
        found: dict[str, Any] = json.loads(answer.body or b"{}")
        return found

    def refusal(self, operation: str, **request: Any) -> str:
        """Return the message about a missing permission, empty if there was none."""
        document = self.call(operation, **request)
        if document.get("__type", "").endswith("#AccessDeniedException"):
            return str(document.get("message") or document.get("Message"))
        return ""

    def create(self) -> None:
        """Make the table, its indexes, its stream and an item."""
        described = self.call("CreateTable", **games())
        self.stream = described["TableDescription"]["LatestStreamArn"]
        self.call("PutItem", TableName="games", Item={**KEY, "score": {"N": "7"}})

    def iterator(self) -> str:
        """Return an iterator of a shard of the stream."""
        return self.iterators()[0]

    def iterators(self) -> list[str]:
        """Return iterators of all shards of the stream."""
        described = self.call("DescribeStream", StreamArn=self.stream)["StreamDescription"]
        found = [
            self.call(
                "GetShardIterator",
                StreamArn=self.stream,
                ShardId=shard["ShardId"],
                ShardIteratorType="TRIM_HORIZON",
            )
            for shard in described["Shards"]
        ]
        return [str(answer["ShardIterator"]) for answer in found]


def games() -> dict[str, Any]:
    """Return the definition of the table."""
    return {
        "TableName": "games",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind}
            for name, kind in (("p", "S"), ("s", "S"), ("score", "N"), ("level", "S"))
        ],
        "KeySchema": _keys("p", "s"),
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by-score",
                "KeySchema": _keys("score"),
                "Projection": {"ProjectionType": "ALL"},
            },
            {
                "IndexName": "by-both",
                "KeySchema": [
                    {"AttributeName": "level", "KeyType": "HASH"},
                    {"AttributeName": "score", "KeyType": "HASH"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            },
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    }


def _keys(*names: str) -> list[dict[str, str]]:
    kinds = itertools.chain(("HASH",), itertools.repeat("RANGE"))
    return [{"AttributeName": n, "KeyType": k} for n, k in zip(names, kinds, strict=False)]
