# /// script
# dependencies = ["langgraph-checkpoint-aws>=1", "langgraph>=1"]
# ///
"""A LangGraph conversation that is interrupted and goes on from its checkpoint in DynamoDB."""

import operator
from typing import Annotated, TypedDict

import boto3
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from langgraph_checkpoint_aws import DynamoDBSaver

boto3.client("dynamodb").create_table(
    TableName="Checkpoints",
    BillingMode="PAY_PER_REQUEST",
    AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK")],
    KeySchema=[
        {"AttributeName": "PK", "KeyType": "HASH"},
        {"AttributeName": "SK", "KeyType": "RANGE"},
    ],
)


class State(TypedDict):
    words: Annotated[list[str], operator.add]


def greet(state: State) -> State:
    return {"words": ["hello"]}


def ask(state: State) -> State:
    return {"words": [interrupt("your name?")]}


def conversation():
    graph = StateGraph(State)
    graph.add_node("greet", greet)
    graph.add_node("ask", ask)
    graph.add_edge(START, "greet")
    graph.add_edge("greet", "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=DynamoDBSaver(table_name="Checkpoints"))


thread = {"configurable": {"thread_id": "1"}}
stopped = conversation().invoke({"words": []}, thread)
assert stopped["__interrupt__"][0].value == "your name?"
# Another process would go on here: a graph of its own, with what the table remembers.
assert conversation().invoke(Command(resume="Ann"), thread)["words"] == ["hello", "Ann"]
history = list(conversation().get_state_history(thread))
assert [len(state.values.get("words", [])) for state in history] == [2, 1, 0, 0]
DynamoDBSaver(table_name="Checkpoints").delete_thread("1")
assert boto3.resource("dynamodb").Table("Checkpoints").scan()["Count"] == 0
