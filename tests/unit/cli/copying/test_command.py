"""Tables copied between two servers: definition, items, changes meanwhile, comparison."""

import json

import pytest

from hashrange.cli.copying import command, following, scanning, verifying
from hashrange.cli.main import build_parser
from hashrange.testing import serve
from hashrange.toolkit.client.batches import write_entries
from hashrange.toolkit.client.retries import RetryPolicy
from hashrange.toolkit.errors import RequestRefused

KEYS = [
    {"AttributeName": "k", "KeyType": "HASH"},
    {"AttributeName": "n", "KeyType": "RANGE"},
]
TYPES = [
    {"AttributeName": "k", "AttributeType": "S"},
    {"AttributeName": "n", "AttributeType": "N"},
    {"AttributeName": "g", "AttributeType": "B"},
]
INDEX = {
    "IndexName": "by-g",
    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["text"]},
}
LOCAL = {
    "IndexName": "local",
    "KeySchema": [KEYS[0], {"AttributeName": "g", "KeyType": "RANGE"}],
    "Projection": {"ProjectionType": "KEYS_ONLY"},
}
COUNT = 130


def item(number):
    return {
        "k": {"S": f"p{number % 13}"},
        "n": {"N": str(number)},
        "g": {"B": bytes([number % 256])},
        "text": {"S": 'ä "quoted" \U0001f600\n'},
        "numbers": {"NS": ["1", "-2.5E+30"]},
        "deep": {"L": [{"M": {"x": {"NULL": True}, "y": {"BS": [b"1", b"\xff"]}}}]},
    }


def key(number):
    return {name: item(number)[name] for name in ("k", "n")}


@pytest.fixture
def source(dynamodb_server):
    client = dynamodb_server.client()
    make_table(client, StreamSpecification=stream("NEW_IMAGE"))
    put_all(client, COUNT)
    return client


@pytest.fixture
def target():
    with serve() as server:
        yield server


@pytest.fixture
def copy(source, dynamodb_server, target, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamodb_server.endpoint_url)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(following, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(following, "_QUIET_ANSWERS", 1)
    monkeypatch.setattr(verifying, "_ROUNDS", 2)

    def run(*flags, to=""):
        place = to or f"{target.endpoint_url}/"
        arguments = ["copy", "games", place, "--segments", "2", *flags]
        status = command.run(build_parser().parse_args(arguments))
        return status, capsys.readouterr().err

    return run


def make_table(client, name="games", **more):
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=TYPES,
        KeySchema=KEYS,
        GlobalSecondaryIndexes=[INDEX],
        LocalSecondaryIndexes=[LOCAL],
        **more,
    )


def put_all(client, count):
    requests = [{"PutRequest": {"Item": item(number)}} for number in range(count)]
    for start in range(0, count, 25):
        client.batch_write_item(RequestItems={"games": requests[start : start + 25]})


def stream(view):
    return {"StreamEnabled": True, "StreamViewType": view}


def contents(client, table="games"):
    pages = client.get_paginator("scan").paginate(TableName=table)
    return {(each["k"]["S"], each["n"]["N"]): each for page in pages for each in page["Items"]}


def test_a_copy_has_the_items_and_the_definition_of_the_source(source, target, copy, tmp_path):
    arn = source.describe_table(TableName="games")["Table"]["TableArn"]
    source.tag_resource(ResourceArn=arn, Tags=[{"Key": "team", "Value": "blue"}])
    expiry = {"Enabled": True, "AttributeName": "gone_at"}
    source.update_time_to_live(TableName="games", TimeToLiveSpecification=expiry)
    status, told = copy()
    assert status == 0, told
    assert f"created {target.endpoint_url}/games" in told
    assert f"copied {COUNT} items" in told
    assert f"verified {COUNT} items" in told
    client = target.client()
    assert contents(client) == contents(source)
    tables = [each.describe_table(TableName="games")["Table"] for each in (source, client)]
    for name in ("KeySchema", "AttributeDefinitions", "StreamSpecification"):
        assert tables[0][name] == tables[1][name]
    for kind, names in (
        ("GlobalSecondaryIndexes", ("IndexName", "KeySchema", "Projection")),
        ("LocalSecondaryIndexes", ("IndexName", "KeySchema", "Projection")),
    ):
        (one,), (other,) = (table[kind] for table in tables)
        assert [one[name] for name in names] == [other[name] for name in names]
    assert client.list_tags_of_resource(ResourceArn=arn)["Tags"] == [
        {"Key": "team", "Value": "blue"}
    ]
    described = client.describe_time_to_live(TableName="games")["TimeToLiveDescription"]
    assert described["AttributeName"] == "gone_at"
    assert list(tmp_path.iterdir()) == []


def test_provisioned_capacity_is_copied(dynamodb_server, target, copy, source):
    units = {"ReadCapacityUnits": 50, "WriteCapacityUnits": 70}
    source.create_table(
        TableName="small",
        AttributeDefinitions=TYPES[:1],
        KeySchema=KEYS[:1],
        ProvisionedThroughput=units,
        DeletionProtectionEnabled=True,
    )
    arguments = ["copy", "small", f"{target.endpoint_url}/tiny"]
    assert command.run(build_parser().parse_args(arguments)) == 0
    table = target.client().describe_table(TableName="tiny")["Table"]
    assert {name: table["ProvisionedThroughput"][name] for name in units} == units
    assert table["DeletionProtectionEnabled"] is True


@pytest.mark.parametrize("view", ["NEW_IMAGE", "NEW_AND_OLD_IMAGES", "OLD_IMAGE", "KEYS_ONLY"])
def test_changes_during_the_copy_are_followed(source, target, copy, view, monkeypatch):
    source.delete_table(TableName="games")
    make_table(source, StreamSpecification=stream(view))
    put_all(source, 40)
    copy_items = scanning.copy_items

    def copy_and_change(*arguments):
        copy_items(*arguments)
        source.put_item(TableName="games", Item=item(1000))
        source.put_item(TableName="games", Item={**item(3), "text": {"S": "new"}})
        source.delete_item(TableName="games", Key=key(4))
        source.delete_item(TableName="games", Key=key(5))
        source.put_item(TableName="games", Item={**item(5), "text": {"S": "back"}})

    monkeypatch.setattr(scanning, "copy_items", copy_and_change)
    status, told = copy()
    assert status == 0, told
    assert "caught up with the stream" in told
    found = contents(target.client())
    assert found == contents(source)
    assert len(found) == 40


def test_without_following_changes_are_missing_and_told(source, target, copy, monkeypatch):
    copy_items = scanning.copy_items

    def copy_and_change(*arguments):
        copy_items(*arguments)
        source.delete_item(TableName="games", Key=key(4))

    monkeypatch.setattr(scanning, "copy_items", copy_and_change)
    status, told = copy("--no-follow")
    assert status == 1
    assert 'differs: [{"S":"p4"},{"N":"4"}]' in told
    assert "1 item of the tables differ" in told
    assert copy("--no-follow", "--no-verify")[0] == 0


def test_following_goes_on_until_it_is_interrupted(source, target, copy, monkeypatch):
    catch_up = following.Follower.catch_up
    calls = []

    def interrupted(self, meter):
        catch_up(self, meter)
        calls.append(len(contents(target.client())))
        if len(calls) == 2:
            source.put_item(TableName="games", Item=item(1000))
            raise KeyboardInterrupt

    monkeypatch.setattr(following.Follower, "catch_up", interrupted)
    status, told = copy("--follow")
    assert (status, calls) == (0, [COUNT, COUNT, COUNT + 1]), told
    assert "verified 131 items" in told


def test_a_copy_that_was_interrupted_goes_on(source, target, copy, monkeypatch, tmp_path):
    batches = []

    def interrupt(table, entries, policy):
        batches.append(len(entries))
        if len(batches) == 4:
            raise KeyboardInterrupt
        return write_entries(table, entries, policy)

    monkeypatch.setattr(scanning, "write_entries", interrupt)
    status, told = copy("--segments", "1", "--rate", "50")
    assert status == 130, told
    assert "the same command goes on" in told
    state = json.loads((tmp_path / "hashrange-copy-games.json").read_text())
    assert state["segments"][0]["items"] == 50
    source.delete_item(TableName="games", Key=key(7))
    source.put_item(TableName="games", Item=item(2000))
    monkeypatch.setattr(scanning, "write_entries", write_entries)
    monkeypatch.setattr(scanning, "copy_items", counting(scanning.copy_items, batches := []))
    status, told = copy()
    assert status == 0, told
    assert "going on from hashrange-copy-games.json, 50 items" in told
    assert contents(target.client()) == contents(source)
    assert batches == [50]


def counting(copy_items, found):
    def counted(source, target, state, *rest):
        found.append(state.items)
        copy_items(source, target, state, *rest)

    return counted


def test_a_throttled_target_is_waited_for(source, copy, monkeypatch):
    monkeypatch.setattr(scanning, "PATIENT", RetryPolicy(attempts=40, base=0.001))
    with serve(faults=True) as target:
        target.faults.add("throttle", operation="BatchWriteItem", rate=0.5)
        status, told = copy(to=f"{target.endpoint_url}/")
        assert status == 0, told
        assert contents(target.client()) == contents(source)


def test_the_target_may_be_there_and_its_other_items_are_told(source, target, copy):
    make_table(target.client())
    target.client().put_item(TableName="games", Item=item(999))
    status, told = copy()
    assert (status, "created" in told) == (1, False)
    assert 'differs: [{"S":"p11"},{"N":"999"}]' in told
    target.client().delete_item(TableName="games", Key=key(999))
    assert copy()[0] == 0


def test_a_table_is_copied_to_another_name_of_the_same_server(source, copy):
    assert copy(to="other")[0] == 0
    assert contents(source, "other") == contents(source)


def test_a_table_of_another_region_is_another_table(source, target, copy):
    assert copy("--target-region", "eu-west-1")[0] == 0
    assert target.client().list_tables()["TableNames"] == []
    assert target.client(region_name="eu-west-1").list_tables()["TableNames"] == ["games"]


@pytest.mark.parametrize(
    ("to", "status", "complaint"),
    [
        ("ftp://somewhere/games", 2, "is no TABLE, http://HOST/TABLE or aws://REGION/TABLE"),
        ("http://127.0.0.1:1/a/b", 2, "names no table"),
        ("games", 1, "the source and the target are the same table"),
    ],
)
def test_places_that_make_no_sense_are_refused(copy, to, status, complaint):
    found, told = copy(to=to)
    assert (found, complaint in told) == (status, True), told


def test_a_target_with_another_key_is_refused(source, target, copy):
    target.client().create_table(
        TableName="games",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=TYPES[:1],
        KeySchema=KEYS[:1],
    )
    status, told = copy()
    assert status == 1
    assert "the target has another key: k (S) instead of k (S), n (N)" in told


def test_a_state_file_is_good_for_its_tables_only(source, target, copy, tmp_path):
    make_table(target.client())
    target.client().put_item(TableName="games", Item=item(999))
    assert copy()[0] == 1
    target.client().delete_table(TableName="games")
    status, told = copy()
    assert status == 1
    assert "is of another copy: its target id is" in told
    assert copy("--restart")[0] == 0


def test_changes_that_the_stream_lost_are_told(source, target, copy, tmp_path):
    make_table(target.client())
    target.client().put_item(TableName="games", Item=item(999))
    assert copy()[0] == 1
    path = tmp_path / "hashrange-copy-games.json"
    state = json.loads(path.read_text())
    path.write_text(json.dumps({**state, "read_at": state["read_at"] - 24 * 3600}))
    status, told = copy()
    assert status == 1
    assert "no longer has all changes" in told


def test_an_iterator_that_expired_is_renewed(source, target, copy, monkeypatch):
    call = following.Follower._call
    refused: list[str] = []

    def refuse_once(self, method, request):
        if method == "get_records" and not refused:
            refused.append(request)
            raise RequestRefused("ExpiredIteratorException", "too old")
        return call(self, method, request)

    monkeypatch.setattr(following.Follower, "_call", refuse_once)
    monkeypatch.setattr(scanning, "copy_items", then_put(scanning.copy_items, source))
    status, told = copy()
    assert (status, len(refused)) == (0, 1), told
    assert contents(target.client()) == contents(source)


def then_put(copy_items, source):
    def copy_and_put(*arguments):
        copy_items(*arguments)
        source.put_item(TableName="games", Item=item(1000))

    return copy_and_put


@pytest.mark.parametrize("operation", ["get_records", "get_shard_iterator"])
def test_records_that_the_stream_trimmed_end_the_copy(source, copy, monkeypatch, operation):
    call = following.Follower._call

    def refuse(self, method, request):
        if method == operation:
            raise RequestRefused("TrimmedDataAccessException", "gone")
        return call(self, method, request)

    monkeypatch.setattr(following.Follower, "_call", refuse)
    status, told = copy()
    assert status == 1
    assert "no longer has all changes" in told


def test_a_refusal_ends_the_copy_and_the_state_stays(source, target, copy, monkeypatch, tmp_path):
    def refuse(*_):
        raise RequestRefused("ValidationException", "One of the items is bad")

    monkeypatch.setattr(scanning, "write_entries", refuse)
    status, told = copy()
    assert status == 1
    assert "One of the items is bad" in told
    monkeypatch.setattr(scanning, "write_entries", write_entries)
    assert (tmp_path / "hashrange-copy-games.json").exists()
    assert copy()[0] == 0


def test_very_many_differences_are_not_listed(source, target, copy, monkeypatch):
    monkeypatch.setattr(verifying, "SUSPECTS_MAX", 10)
    make_table(target.client(), "copied")
    monkeypatch.setattr(scanning, "copy_items", lambda *_: None)
    status, told = copy("--no-follow", to=f"{target.endpoint_url}/copied")
    assert status == 1
    assert "the tables differ in very many items" in told
