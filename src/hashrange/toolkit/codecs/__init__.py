"""Attribute codecs: what happens to attributes between the application and the table.

A codec changes the attributes it was given and leaves everything else alone. Reading, it leaves
values alone that it did not write, so that a codec can be introduced on a table with data. Of
several codecs, the first in the list sees the plain value: compress, then encrypt, then offload.
Encoded attributes cannot be used in keys and expressions.
"""
