# /// script
# dependencies = ["bloop>=3"]
# ///
"""Albums as bloop objects: index, conditions, a transaction, and the stream of changes."""

import bloop

BaseModel = type("Base", (bloop.BaseModel,), {"Meta": type("Meta", (), {"abstract": True})})


class Album(BaseModel):
    class Meta:
        table_name = "BloopAlbums"
        billing = {"mode": "on_demand"}  # noqa: RUF012 - bloop reads it from the class
        stream = {"include": ["new", "old"]}  # noqa: RUF012 - bloop reads it from the class

    artist = bloop.Column(bloop.String, hash_key=True)
    title = bloop.Column(bloop.String, range_key=True)
    year = bloop.Column(bloop.Integer)
    tags = bloop.Column(bloop.Set(bloop.String))
    by_year = bloop.GlobalSecondaryIndex(projection="all", hash_key="year", range_key="title")


engine = bloop.Engine()
engine.bind(Album)
changes = engine.stream(Album, "trim_horizon")
albums = [Album(artist="Nina Simone", title=f"t{n}", year=1960 + n % 3) for n in range(9)]
albums[0].tags = {"jazz", "live"}
engine.save(*albums)

found = engine.query(Album, key=(Album.artist == "Nina Simone") & (Album.title > "t5"))
assert [album.title for album in found] == ["t6", "t7", "t8"]
of_1961 = engine.query(Album.by_year, key=Album.year == 1961, forward=False)
assert [album.title for album in of_1961] == ["t7", "t4", "t1"]

again = Album(artist="Nina Simone", title="t0")
engine.load(again)
assert again.tags == {"jazz", "live"}
try:
    engine.save(Album(artist="Nina Simone", title="t0"), condition=Album.artist.is_(None))
    raise SystemExit("an album that exists was overwritten")
except bloop.ConstraintViolation:
    pass

with engine.transaction() as transaction:
    transaction.save(Album(artist="Abbey Lincoln", title="Abbey Is Blue", year=1959))
    transaction.delete(albums[8], condition=Album.year == 1962)
assert len(list(engine.scan(Album))) == 9

seen = []
for _ in range(100):
    if record := next(changes):
        seen.append((record["new"] and record["new"].title, record["old"] and record["old"].title))
    if len(seen) == 11:
        break
assert ("Abbey Is Blue", None) in seen, seen
assert (None, "t8") in seen, seen
