"""A worker that hangs with the turn to write does not stop the others for long."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
import time
from pathlib import Path

from tests.faults.served import Connection, NoAnswerError, Served, eventually

TABLE = "hang"


def put(connection: Connection, number: int) -> None:
    item = {"id": {"N": str(number)}, "text": {"S": "x" * 200}}
    connection.result("PutItem", TableName=TABLE, Item=item)


def is_locked(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def stop_with_turn(served: Served) -> int:
    """Stop one worker while it has the turn to write; return its process id."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for worker in served.workers():
            os.kill(worker, signal.SIGSTOP)
            looks = 20
            # Held all the time, although the other worker goes on: it is this one that has it.
            while looks and is_locked(served.directory / "TURN"):
                looks -= 1
                time.sleep(0.005)
            if not looks:
                return worker
            os.kill(worker, signal.SIGCONT)
            time.sleep(0.003)
    raise AssertionError("no worker was stopped with the turn")


def test_a_worker_that_is_stopped_with_the_turn_to_write_is_ended(tmp_path: Path) -> None:
    served = Served(tmp_path / "data", "--workers", "2")
    served.start()
    first = Connection(served.port)
    first.result(
        "CreateTable",
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )
    kept: set[int] = set()
    is_over = threading.Event()

    def write(writer: int) -> None:
        number = writer
        while not is_over.is_set():
            connection = Connection(served.port)
            try:
                while not is_over.is_set():
                    number += 8
                    put(connection, number)
                    kept.add(number)
            except (NoAnswerError, OSError):
                pass
            finally:
                connection.close()

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(8)]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: len(kept) > 100, "writes go on")
        stopped = stop_with_turn(served)
        begin = time.monotonic()
        count = len(kept)
        eventually(lambda: len(kept) > count + 100, "writes go on after a worker hung")
        seconds = time.monotonic() - begin
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert stopped not in served.workers()
    # Five seconds, and a little for a busy machine.
    assert seconds < 10
    assert "hangs; killing it" in served.messages()
    first.close()
    found = {int(item["id"]["N"]) for item in first.pages("Scan", TableName=TABLE)}
    assert kept <= found
    first.close()
    assert served.stop() == 0
    served.close()
