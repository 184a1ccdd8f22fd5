# /// script
# dependencies = ["pynamodb>=6"]
# ///
"""Threads of a forum as PynamoDB models: versions, an index, batches."""

from pynamodb.attributes import NumberAttribute, UnicodeAttribute, VersionAttribute
from pynamodb.exceptions import UpdateError
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model


class ByViews(GlobalSecondaryIndex):
    class Meta:
        projection = AllProjection()
        billing_mode = "PAY_PER_REQUEST"

    forum = UnicodeAttribute(hash_key=True)
    views = NumberAttribute(range_key=True)


class Thread(Model):
    class Meta:
        table_name = "MoreThreads"

        billing_mode = "PAY_PER_REQUEST"

    forum = UnicodeAttribute(hash_key=True)
    subject = UnicodeAttribute(range_key=True)
    views = NumberAttribute(default=0)
    version = VersionAttribute()
    by_views = ByViews()


Thread.create_table(wait=True)
with Thread.batch_write() as batch:
    for n in range(30):
        batch.save(Thread("db", f"s{n:02}", views=n))
assert [thread.views for thread in Thread.by_views.query("db", Thread.views > 27)] == [28, 29]
first, second = Thread.get("db", "s00"), Thread.get("db", "s00")
first.update(actions=[Thread.views.add(5)])
assert first.views == 5
try:
    second.update(actions=[Thread.views.add(1)])
    raise SystemExit("an outdated thread was written")
except UpdateError:
    pass
assert Thread.count("db", Thread.subject.startswith("s1")) == 10
