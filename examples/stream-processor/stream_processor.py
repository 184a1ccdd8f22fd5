"""A stream processor: keeps a search index, a cache and an audit log in line with a table.

Lambda's contract: `handler(event, context)` gets a batch of stream records and answers which of
them failed. What it does to the world outside is written to `effects.jsonl`, one JSON object per
line, so that the example needs nothing but this server.
"""

import json
import os

EFFECTS = os.environ.get("EFFECTS_FILE", "effects.jsonl")


def handler(event, context):
    """Process a batch; report the first record that failed, and leave the rest for the retry."""
    for record in event["Records"]:
        change = record["dynamodb"]
        try:
            process(record["eventName"], change)
        except (KeyError, ValueError) as error:
            print(f"record {record['eventID']} failed: {error}")
            # Records are named by their sequence numbers; all from this one on come again.
            return {"batchItemFailures": [{"itemIdentifier": change["SequenceNumber"]}]}
    return {"batchItemFailures": []}


def process(event_name, change):
    """Do what a change of an item calls for."""
    new = unmarshall(change.get("NewImage", {}))
    old = unmarshall(change.get("OldImage", {}))
    if event_name == "INSERT":
        if new.get("type") == "PRODUCT":
            effect("index", id=new["id"])
        if new.get("type") == "ORDER":
            effect("notify", id=new["id"])
    elif event_name == "MODIFY":
        effect("audit", id=new["id"], changes=differences(old, new))
        if new.get("type") == "USER":
            effect("invalidate", user=new["userId"])
    elif event_name == "REMOVE" and old.get("type") == "USER":
        effect("cleanup", user=old["userId"])


def differences(old, new):
    """Return the names of the attributes that changed."""
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))


def effect(action, **details):
    """Do something outside; here, write it down."""
    if details.get("id") == "poison":
        raise ValueError("the search index does not take poison")
    with open(EFFECTS, "a") as file:
        file.write(json.dumps({"action": action, **details}) + "\n")


def unmarshall(image):
    """Return an item of a record as plain values."""
    return {name: plain(value) for name, value in image.items()}


def plain(value):
    """Return an attribute value as a plain value."""
    ((kind, content),) = value.items()
    if kind == "N":
        return float(content) if "." in content else int(content)
    if kind == "NULL":
        return None
    if kind == "L":
        return [plain(element) for element in content]
    if kind == "M":
        return unmarshall(content)
    return content
