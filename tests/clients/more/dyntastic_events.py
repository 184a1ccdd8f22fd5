# /// script
# dependencies = ["dyntastic>=0.18"]
# ///
"""Products as dyntastic objects, which are pydantic models."""

from datetime import UTC, datetime, timedelta

from dyntastic import A, Dyntastic, Index, transaction


class Event(Dyntastic):
    __table_name__ = "DyntasticEvents"
    __hash_key__ = "source"
    __range_key__ = "moment"

    source: str
    moment: datetime
    kind: str = "click"
    count: int = 0


begin = datetime(2026, 1, 1, tzinfo=UTC)
Event.create_table(Index("kind", "moment"))
with Event.batch_writer():
    for n in range(40):
        kind = "view" if n % 4 == 0 else "click"
        Event(source="web", moment=begin + timedelta(hours=n), kind=kind, count=n).save()

later = Event.query("web", range_key_condition=A.moment >= begin + timedelta(hours=37))
assert [event.count for event in later] == [37, 38, 39]
views = list(Event.query(A.kind == "view", index="kind_moment-index", per_page=3))
assert [event.count for event in views] == list(range(0, 40, 4))

event = Event.get("web", begin)
event.update(A.count.set(A.count + 5), condition=A.kind == "view")
assert event.count == 5
event.update(A.count.set(0), condition=A.kind == "click")
assert Event.get("web", begin, consistent_read=True).count == 5
assert Event.safe_get("web", begin - timedelta(hours=1)) is None
with transaction():
    Event(source="app", moment=begin).save()
    event.delete()
assert Event.safe_get("web", begin) is None
assert len(list(Event.scan(A.source == "app"))) == 1
