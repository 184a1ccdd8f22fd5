"""The outbox is read when something came or is due, and not whenever somebody looks."""

import asyncio
from typing import Any

import pytest

from hashrange.alarms.documents import Documents
from hashrange.alarms.outbox import RETRY_SECONDS, http_parcel, parcel_key
from hashrange.clock import VirtualClock
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.services import deliveries
from hashrange.services.deliveries import Deliveries, UndeliveredError


class CountedDocuments:
    """Documents that count how often they are listed."""

    def __init__(self, documents):
        self._documents = documents
        self.lists = 0

    def __getattr__(self, name):
        return getattr(self._documents, name)

    async def list(self, prefix):
        self.lists += 1
        return await self._documents.list(prefix)


@pytest.fixture
def sent(monkeypatch):
    """Replace the network; what is in `refused` is not taken."""
    urls: list[str] = []
    refused: set[str] = set()

    async def post(url, body, headers):
        urls.append(url)
        if url in refused:
            raise UndeliveredError("busy")

    monkeypatch.setattr(deliveries, "_post", post)
    return urls, refused


def scene():
    """Return the clock, the documents and the deliveries of a server without alarms and topics."""
    clock = VirtualClock()
    documents: Any = CountedDocuments(Documents(MemoryEngine()))
    absent: Any = None
    return clock, documents, Deliveries(documents, absent, absent, absent, clock)


async def enqueue(documents, clock, url):
    await documents.put(parcel_key(clock.now(), url), http_parcel(url, "", {}, clock.now()))


def test_an_empty_outbox_is_read_once_and_then_every_five_seconds(sent):
    async def scenario():
        clock, documents, work = scene()
        for _ in range(20):
            assert await work.step() == 0
        assert documents.lists == 1
        clock.advance(5)
        assert await work.step() == 0
        assert documents.lists == 2

    asyncio.run(scenario())


def test_a_new_parcel_is_sent_with_the_next_step(sent):
    async def scenario():
        clock, documents, work = scene()
        await work.step()
        await enqueue(documents, clock, "http://a")
        assert await work.step() == 1
        assert sent[0] == ["http://a"]
        assert await work.step() == 0
        assert sent[0] == ["http://a"]

    asyncio.run(scenario())


def test_a_parcel_that_was_not_taken_is_sent_again_when_it_is_due(sent):
    async def scenario():
        clock, documents, work = scene()
        sent[1].add("http://a")
        await enqueue(documents, clock, "http://a")
        assert await work.step() == 1
        sent[1].clear()
        assert await work.step() == 0
        clock.advance(RETRY_SECONDS - 1)
        assert await work.step() == 0
        clock.advance(1)
        assert await work.step() == 1
        assert sent[0] == ["http://a", "http://a"]

    asyncio.run(scenario())


def test_more_parcels_than_are_sent_at_once_follow_in_the_next_steps(sent):
    async def scenario():
        clock, documents, work = scene()
        for n in range(40):
            await enqueue(documents, clock, f"http://{n:02}")
        while await work.step():
            pass
        assert sorted(sent[0]) == [f"http://{n:02}" for n in range(40)]

    asyncio.run(scenario())
