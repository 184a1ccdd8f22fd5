"""AWS services beside DynamoDB that are served on the same port: one package a service.

A package makes `SERVICE` in its `__init__` and imports its handlers only when they are first used,
so that a server that is only asked for DynamoDB never loads them.
"""
