"""The Python code in the documents of the toolkit runs, page by page."""

import re
from pathlib import Path
from typing import Any

import pytest

from hashrange.toolkit import load_design
from tests.toolkit.test_seeds import BLOCKS

DOCUMENTS = Path(__file__).parents[2] / "docs" / "toolkit"
PAGES = sorted(DOCUMENTS.glob("*.md"))


def code_of(page, language="python"):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.fixture
def _region(monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


@pytest.mark.parametrize(
    "page", [page for page in PAGES if code_of(page)], ids=lambda page: page.stem
)
@pytest.mark.usefixtures("_region")
def test_the_code_of_a_page_runs(page, dynamodb, capsys):
    blocks = code_of(page)
    if page.stem == "seed-examples":
        # Its global table has a second region.
        dynamodb.client(region_name="eu-west-1").create_table(
            TableName="Application",
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[
                {"AttributeName": "PK", "KeyType": "HASH"},
                {"AttributeName": "SK", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK")
            ],
        )
    names = {"__name__": "page"}
    for number, block in enumerate(blocks):
        code = compile(block, f"{page.name}, block {number + 1}", "exec")
        if "aiobotocore" not in block:  # which reaches servers, not this process
            exec(code, names)


EXAMPLES = {
    "Tables, TTL, users, queries and batches": (
        "Good: On-Demand Capacity Mode",
        "Good: Using TTL for Automatic Expiration",
        "Good: Storing User Data",
        "Good: Querying with Partition and Sort Keys",
        "Good: Batch Operations",
    ),
    "Single-table design": ("Pattern: Single-Table Design",),
    "The client": ("Python SDK (boto3)",),
    "Transactions": ("ACID Transactions Implementation",),
    "Large objects in S3": ("Good: Storing S3 References for Large Objects",),
    "Several regions": ("Multi-Region Setup",),
}


def lines_of(code):
    lines = [line.strip() for line in code.splitlines()]
    return sum(1 for line in lines if line and not line.startswith("#"))


@pytest.mark.parametrize("title", EXAMPLES)
def test_each_example_of_the_standards_is_shorter_with_the_toolkit(title):
    text = (DOCUMENTS / "seed-examples.md").read_text()
    section = text.split(f"\n## {title}\n")[1].split("\n## ")[0]
    here = lines_of(re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0])
    there = sum(lines_of(BLOCKS[name]) for name in EXAMPLES[title])
    assert here < there
    assert f"| {title} | {there} | {here} |" in text


def test_the_design_in_the_document_is_the_same_in_python_and_in_toml(tmp_path, dynamodb):
    page = DOCUMENTS / "design.md"
    names: dict[str, Any] = {}
    exec(code_of(page)[0], names)
    path = tmp_path / "shop.toml"
    path.write_text(code_of(page, "toml")[0])
    loaded = load_design(path)
    assert loaded == names["design"]
