"""Incremental exports over consecutive windows, applied to a full one, give the table."""

import gzip
import json
import random
import shutil
from contextlib import closing
from typing import Any

import pytest
from amazon.ion import simpleion

from hashrange.objects.folder import FolderStore
from hashrange.objects.seals import MAGIC, KeySeal, object_subject
from hashrange.testing import LocalDynamoDB, local
from hashrange.transfers.formats.ion_values import ion_to_item

WINDOW_SECONDS = 900
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/games"
Items = dict[str, dict[str, Any]]


class Place:
    """A database in this process, and the folder of its buckets."""

    def __init__(self, db: LocalDynamoDB) -> None:
        self.db = db
        # boto3 sends whole seconds.
        db.clock.set(int(db.clock.now()) + 1)
        self.client = db.client()
        objects = db._database._database.objects
        assert isinstance(objects, FolderStore)
        self.objects = objects
        self.root = objects.root / "bucket"
        self.root.mkdir()
        self.client.create_table(
            TableName="games",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        )
        self.client.update_continuous_backups(
            TableName="games",
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
        )
        self.client.update_time_to_live(
            TableName="games",
            TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"},
        )

    def export(self, **request: Any) -> list[bytes]:
        """Return the lines of an export."""
        described = self.describe_export(**request)
        summary = json.loads(self.read(described["ExportManifest"]))
        files = self.read(summary["manifestFilesS3Key"]).splitlines()
        return [
            line
            for file in files
            for line in gzip.decompress(self.read(json.loads(file)["dataFileS3Key"])).splitlines()
        ]

    def read(self, key: str) -> bytes:
        """Return the content of a file."""
        subject = object_subject("bucket", key)
        with closing(self.objects.seal.open(self.root / key, subject)) as content:
            return content.read(0, content.size)

    def describe_export(self, **request: Any) -> dict[str, Any]:
        """Export; return the description."""
        described = self.client.export_table_to_point_in_time(
            TableArn=ARN, S3Bucket="bucket", **request
        )["ExportDescription"]
        described = self.client.describe_export(ExportArn=described["ExportArn"])
        described = described["ExportDescription"]
        assert described["ExportStatus"] == "COMPLETED", described
        return described

    def changes(self, begin: float, view: str, form: str = "DYNAMODB_JSON") -> list[bytes]:
        """Return the lines of an incremental export."""
        return self.export(
            ExportType="INCREMENTAL_EXPORT",
            ExportFormat=form,
            IncrementalExportSpecification={
                "ExportFromTime": begin,
                "ExportToTime": begin + WINDOW_SECONDS,
                "ExportViewType": view,
            },
        )

    def contents(self) -> Items:
        return {item["k"]["S"]: item for item in self.client.scan(TableName="games")["Items"]}

    def write(self, chance: random.Random) -> None:
        """Put, update or delete items, one or two together; some of them will expire."""
        keys = [{"k": {"S": f"k{number}"}} for number in chance.sample(range(12), 2)]
        value = {"n": {"N": str(chance.randrange(100))}}
        act = chance.choice(("put", "put", "update", "delete", "transaction", "expire"))
        if act == "delete":
            self.client.delete_item(TableName="games", Key=keys[0])
        elif act == "update":
            self.client.update_item(
                TableName="games",
                Key=keys[0],
                UpdateExpression="ADD n :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            )
        elif act == "transaction":
            put = {"Put": {"TableName": "games", "Item": keys[0] | value}}
            delete = {"Delete": {"TableName": "games", "Key": keys[1]}}
            self.client.transact_write_items(TransactItems=[put, delete])
        else:
            if act == "expire":
                seconds = chance.randrange(WINDOW_SECONDS)
                value["until"] = {"N": str(int(self.db.clock.now()) + seconds)}
            self.client.put_item(TableName="games", Item=keys[0] | value)


@pytest.mark.parametrize("seed", range(6))
def test_changes_applied_in_order_give_the_table(seed: int) -> None:
    chance = random.Random(seed)
    with local() as db:
        place = Place(db)
        start = db.clock.now()
        for _ in range(15):
            place.write(chance)
        db.clock.advance(1)
        items = {
            line["Item"]["k"]["S"]: line["Item"]
            for line in map(json.loads, place.export(ExportTime=db.clock.now()))
        }
        assert items == place.contents()
        begin = db.clock.now() + 1
        db.clock.set(begin)
        for _ in range(4):
            before = dict(items)
            for _ in range(10):
                place.write(chance)
                db.clock.advance(chance.randrange(WINDOW_SECONDS // 11))
            db.clock.set(begin + WINDOW_SECONDS - 1)
            expected = place.contents()
            # What happens at the end of a window, an expiry too, belongs to the next one.
            db.clock.set(begin + WINDOW_SECONDS)
            place.write(chance)
            for line in map(json.loads, place.changes(begin, "NEW_AND_OLD_IMAGES")):
                key = line["Keys"]["k"]["S"]
                assert line.get("OldImage") == before.get(key)
                assert begin * 1e6 <= int(line["Metadata"]["WriteTimestampMicros"]["N"])
                if "NewImage" in line:
                    items[key] = line["NewImage"]
                else:
                    del items[key]
            assert items == expected
            begin += WINDOW_SECONDS
        assert start < begin


def test_a_new_image_export_has_no_old_images_and_ion_says_the_same() -> None:
    with local() as db:
        place = Place(db)
        place.client.put_item(TableName="games", Item={"k": {"S": "gone"}})
        place.client.put_item(TableName="games", Item={"k": {"S": "kept"}, "n": {"N": "1.5"}})
        db.clock.advance(1)
        begin = db.clock.now()
        place.client.delete_item(TableName="games", Key={"k": {"S": "gone"}})
        place.client.put_item(TableName="games", Item={"k": {"S": "kept"}, "n": {"N": "2"}})
        place.client.put_item(TableName="games", Item={"k": {"S": "passing"}})
        place.client.delete_item(TableName="games", Key={"k": {"S": "passing"}})
        db.clock.advance(WINDOW_SECONDS + 1)
        lines = [json.loads(line) for line in place.changes(begin, "NEW_IMAGE")]
        assert {line["Keys"]["k"]["S"]: line.get("NewImage") for line in lines} == {
            "gone": None,
            "kept": {"k": {"S": "kept"}, "n": {"N": "2"}},
        }
        assert not any("OldImage" in line for line in lines)
        structs = [
            simpleion.loads(line)["Record"] for line in place.changes(begin, "NEW_IMAGE", "ION")
        ]
        assert [
            {name: ion_to_item(struct[name]) for name in ("Keys", "NewImage") if name in struct}
            for struct in structs
        ] == [{n: line[n] for n in ("Keys", "NewImage") if n in line} for line in lines]


@pytest.mark.parametrize("form", ["DYNAMODB_JSON", "ION"])
def test_an_incremental_export_to_a_sealed_folder_says_the_same_and_shows_nothing(
    form: str,
) -> None:
    with local() as db:
        place = Place(db)
        begin = db.clock.now()
        place.client.put_item(TableName="games", Item={"k": {"S": "planted-word"}})
        db.clock.advance(WINDOW_SECONDS + 1)
        plain = place.changes(begin, "NEW_IMAGE", form)
        assert any(b"planted-word" in line for line in plain)
        shutil.rmtree(place.root)
        place.root.mkdir()
        place.objects.seal = KeySeal([bytes(32)])
        assert place.changes(begin, "NEW_IMAGE", form) == plain
        files = [path for path in place.root.rglob("*") if path.is_file()]
        contents = [path for path in files if ".hashrange" not in path.parts]
        assert len(contents) >= 4
        assert all(path.read_bytes().startswith(MAGIC) for path in contents)
        assert not any(b"games" in path.read_bytes() for path in files)
