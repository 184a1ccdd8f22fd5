# /// script
# dependencies = ["flask-session[dynamodb]>=0.8", "boto3", "mypy-boto3-dynamodb"]
# ///
"""A Flask application whose sessions live in DynamoDB."""

import boto3
from flask import Flask, session
from flask_session import Session

app = Flask("shop")
app.config.update(
    SESSION_TYPE="dynamodb",
    SESSION_DYNAMODB=boto3.resource("dynamodb"),
    SESSION_DYNAMODB_TABLE="FlaskSessions",
)
Session(app)


@app.get("/visit")
def visit() -> str:
    session["visits"] = session.get("visits", 0) + 1
    return str(session["visits"])


@app.get("/leave")
def leave() -> str:
    session.clear()
    return "bye"


table = boto3.resource("dynamodb").Table("FlaskSessions")
ann, bob = app.test_client(), app.test_client()
assert [ann.get("/visit").text for _ in range(3)] == ["1", "2", "3"]
assert bob.get("/visit").text == "1"
assert table.scan()["Count"] == 2
assert ann.get("/leave").text == "bye"
assert table.scan()["Count"] == 1
assert ann.get("/visit").text == "1"
