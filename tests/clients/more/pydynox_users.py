# /// script
# dependencies = ["pydynox>=1"]
# ///
"""Users as pydynox models, whose requests a core in Rust makes: async and sync."""

import asyncio

from pydynox import DynamoDBClient, Model, ModelConfig, SyncBatchWriter, SyncTransaction
from pydynox.attributes import ListAttribute, NumberAttribute, StringAttribute
from pydynox.exceptions import ConditionalCheckFailedException
from pydynox.indexes import GlobalSecondaryIndex

client = DynamoDBClient(region="us-east-1")


class User(Model):
    model_config = ModelConfig(table="PydynoxUsers", client=client)
    pk = StringAttribute(partition_key=True)
    sk = StringAttribute(sort_key=True)
    email = StringAttribute()
    age = NumberAttribute(default=0)
    tags = ListAttribute()
    by_email = GlobalSecondaryIndex(index_name="by-email", partition_key="email")


async def change_and_read() -> None:
    ann = User(pk="u1", sk="profile", email="ann@example.com", tags=["new"])
    await ann.save(condition=User.pk.not_exists())
    try:
        await ann.save(condition=User.pk.not_exists())
        raise SystemExit("a user who exists was overwritten")
    except ConditionalCheckFailedException:
        pass
    await ann.update(atomic=[User.age.add(41), User.tags.append(["vip"])])
    found = await User.get(pk="u1", sk="profile")
    assert (found.age, found.tags) == (41, ["new", "vip"])
    by_email = [user.pk async for user in User.by_email.query(partition_key="ann@example.com")]
    assert by_email == ["u1"]


User.sync_create_table(wait=True)
asyncio.run(change_and_read())
with SyncBatchWriter(client, "PydynoxUsers") as batch:
    for n in range(60):
        batch.put({"pk": "u2", "sk": f"order#{n:02}", "email": "bob@example.com", "age": n})
assert len(list(User.sync_query(partition_key="u2", filter_condition=User.age >= 50))) == 10
with SyncTransaction(client) as transaction:
    transaction.delete("PydynoxUsers", {"pk": "u2", "sk": "order#00"})
    transaction.put("PydynoxUsers", {"pk": "u3", "sk": "profile", "email": "c", "age": 1})
assert User.sync_get(pk="u2", sk="order#00") is None
assert User.sync_get(pk="u3", sk="profile").email == "c"
