"""Changes of a design, carried out on live tables: compare, estimate, back-fill, verify, roll back.

`differences` says what changed and whether it can be made, `backfill` changes items, `migration`
puts the steps together.
"""
