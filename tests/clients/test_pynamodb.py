"""A session with PynamoDB, an object mapper with a transport of its own."""

from typing import Any

import pytest
from pynamodb.attributes import (
    JSONAttribute,
    ListAttribute,
    NumberAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    VersionAttribute,
)
from pynamodb.connection import Connection
from pynamodb.exceptions import DoesNotExist, PutError, UpdateError
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model
from pynamodb.transactions import TransactWrite


def thread_model(url: str) -> Any:
    class ByViews(GlobalSecondaryIndex):
        class Meta:
            index_name = "by-views"
            projection = AllProjection()
            billing_mode = "PAY_PER_REQUEST"

        forum = UnicodeAttribute(hash_key=True)
        views = NumberAttribute(range_key=True)

    class Thread(Model):
        class Meta:
            table_name = "PynamoThreads"
            host = url
            region = "us-east-1"
            billing_mode = "PAY_PER_REQUEST"

        forum = UnicodeAttribute(hash_key=True)
        subject = UnicodeAttribute(range_key=True)
        views = NumberAttribute(default=0)
        tags = UnicodeSetAttribute(null=True)
        replies: ListAttribute[Any] = ListAttribute(default=list)
        extra = JSONAttribute(null=True)
        version = VersionAttribute()
        by_views = ByViews()

    return Thread


@pytest.mark.usefixtures("client_environment")
def test_a_model_is_saved_queried_updated_and_guarded(url):
    thread = thread_model(url)
    thread.create_table(wait=True)
    with thread.batch_write() as batch:
        for n in range(30):
            batch.save(thread("db", f"s{n:02}", views=n, tags={"new"}, extra={"n": n}))
    assert thread.count("db") == 30
    found = list(thread.query("db", thread.subject.startswith("s1"), limit=5, page_size=2))
    assert [one.subject for one in found] == ["s10", "s11", "s12", "s13", "s14"]
    popular = thread.by_views.query("db", thread.views > 27, scan_index_forward=False)
    assert [one.views for one in popular] == [29, 28]
    first, second = thread.get("db", "s00"), thread.get("db", "s00")
    first.update(actions=[thread.views.add(5), thread.tags.add({"hot"})])
    assert (first.views, first.tags, first.version) == (5, {"new", "hot"}, 1)
    with pytest.raises(UpdateError, match="ConditionalCheckFailedException"):
        second.update(actions=[thread.views.add(1)])
    with pytest.raises(PutError):
        thread("db", "s01").save(thread.forum.does_not_exist())
    with TransactWrite(connection=Connection(host=url, region="us-east-1")) as transaction:
        transaction.save(thread("db", "fresh"))
        transaction.delete(thread.get("db", "s02"))
    with pytest.raises(DoesNotExist):
        thread.get("db", "s02")
    assert len(list(thread.scan(thread.views >= 20))) == 10
    thread.delete_table()
