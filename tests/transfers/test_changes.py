"""Incremental exports over consecutive windows, applied to a full one, give the table."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from amazon.ion import simpleion

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
        self.root: Path = db._database._database.objects.root / "bucket"
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

    def export(self, **request: Any) -> list[bytes]:
        """Return the lines of an export."""
        described = self.client.export_table_to_point_in_time(
            TableArn=ARN, S3Bucket="bucket", **request
        )["ExportDescription"]
        described = self.client.describe_export(ExportArn=described["ExportArn"])
        described = described["ExportDescription"]
        assert described["ExportStatus"] == "COMPLETED", described
        summary = json.loads((self.root / described["ExportManifest"]).read_bytes())
        files = (self.root / summary["manifestFilesS3Key"]).read_bytes().splitlines()
        return [
            line
            for file in files
            for line in gzip.decompress(
                (self.root / json.loads(file)["dataFileS3Key"]).read_bytes()
            ).splitlines()
        ]

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
        """Put or delete an item at some later moment."""
        key = {"k": {"S": f"k{chance.randrange(12)}"}}
        if chance.random() < 0.3:
            self.client.delete_item(TableName="games", Key=key)
        else:
            value = {"n": {"N": str(chance.randrange(100))}}
            self.client.put_item(TableName="games", Item=key | value)


@pytest.mark.parametrize("seed", range(3))
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
            db.clock.set(begin + WINDOW_SECONDS)
            expected = place.contents()
            place.write(chance)  # at the end of the window, which belongs to the next one
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
