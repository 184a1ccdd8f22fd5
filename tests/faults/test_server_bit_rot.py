"""A client is refused damaged data with an internal error, and the log says what is damaged."""

from __future__ import annotations

from pathlib import Path

from tests.faults.served import Connection, Served

TABLE = "rotten"


def item_of(name: str) -> dict[str, dict[str, str]]:
    return {"id": {"S": name}, "text": {"S": f"the text of {name}"}}


def get(connection: Connection, name: str) -> tuple[int, str]:
    reply = connection.call("GetItem", {"TableName": TABLE, "Key": {"id": {"S": name}}})
    if reply.status == 200:
        assert reply.body["Item"] == item_of(name)
    return reply.status, reply.error


def test_a_flipped_bit_is_an_internal_error_and_one_line_in_the_log(tmp_path: Path) -> None:
    served = Served(tmp_path / "data", "--workers", "2")
    connection = Connection(served.port)
    try:
        served.start()
        connection.result(
            "CreateTable",
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        )
        for name in ("good", "bad"):
            connection.result("PutItem", TableName=TABLE, Item=item_of(name))
        connection.close()
        assert served.stop() == 0
        database = served.directory / "hashrange.db"
        content = database.read_bytes()
        assert content.count(b"the text of bad") == 1
        database.write_bytes(content.replace(b"the text of bad", b"the tezt of bad"))
        served.start()
        assert get(connection, "good") == (200, "")
        assert get(connection, "bad") == (500, "InternalServerError")
        scan = connection.call("Scan", {"TableName": TABLE})
        assert (scan.status, scan.error) == (500, "InternalServerError")
        assert get(connection, "good") == (200, "")
        connection.close()
        assert served.stop() == 0
        messages = served.messages()
        assert "is damaged: its checksum is wrong" in messages
        assert "met damaged data" in messages
        assert "Traceback" not in messages
        assert "the tezt" not in messages
    finally:
        connection.close()
        served.close()
