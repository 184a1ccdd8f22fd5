"""Designs from what is there already: CreateTable documents, live tables, templates, models.

What a source cannot say (entities, access patterns, expectations) is left empty, or inferred from
items where there are some; the result is a draft to be completed by hand. Index keys of several
attributes are refused: key templates are the toolkit's way to make composite keys.
"""
