"""The report shows the whole design on one page that needs nothing else."""

import re
from datetime import date
from html.parser import HTMLParser
from typing import Any

import pytest

from examples.designs.iot import Sensors
from examples.designs.order_entry import OrderEntry
from examples.designs.shop import Shop
from hashrange.cli.main import main
from hashrange.toolkit.cost.prices import load_prices
from hashrange.toolkit.report.facts import gather, sample_rows
from hashrange.toolkit.report.keys import shortened
from hashrange.toolkit.report.markdown import markdown_of
from hashrange.toolkit.report.markup import Markup, element
from hashrange.toolkit.report.page import html_of
from tests.toolkit.checker.documents import HERE, shop

TODAY = date(2026, 5, 17)
VOID = {"meta"}


class Page(HTMLParser):
    """Checks that elements are closed, and collects texts and attributes."""

    def __init__(self, text):
        super().__init__()
        self.open: list[Any] = []
        self.texts: list[Any] = []
        self.attributes: list[Any] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def facts():
    change = {
        "patterns.user.consistent": True,
        "patterns.user.description": "Who <b>&</b> what",
        "waivers": [{"rule": "pattern-strong-read", "reason": "they see their own changes"}],
    }
    return gather(shop(change), load_prices(), TODAY)


def test_the_page_is_well_formed_and_complete(facts):
    page = Page(html_of(facts))
    text = " ".join(page.texts)
    for name in ("Key layout", "Item collections", "Heat", "Costs", "Findings", "orders_by_status"):
        assert name in text
    assert "Waived: they see their own changes" in text


def test_the_page_loads_nothing(facts):
    text = html_of(facts)
    page = Page(text)
    links = [value for name, value in page.attributes if name in ("src", "href")]
    assert all(value.startswith("#") for value in links)
    assert not re.search(r"url\(|@import|<script|<link|https?://", text)


def test_links_lead_to_sections(facts):
    page = Page(html_of(facts))
    ids = {value for name, value in page.attributes if name == "id"}
    assert {value[1:] for name, value in page.attributes if name == "href"} <= ids


def test_texts_of_the_design_are_escaped(facts):
    assert "Who &lt;b&gt;&amp;&lt;/b&gt; what" in html_of(facts)


@pytest.mark.parametrize("example", [Shop, Sensors, OrderEntry], ids=lambda e: e.design.name)
def test_examples_have_a_report(example):
    facts = gather(example.design, load_prices(), TODAY)
    Page(html_of(facts))
    assert example.design.patterns[0].name in markdown_of(facts)


def test_sample_rows_are_in_the_order_of_the_table(facts):
    rows = sample_rows(facts, facts.design.table("Shop"))
    keys = [(row.item["PK"], row.item["SK"]) for row in rows]
    assert keys == sorted(keys)
    assert {row.entity.name for row in rows} == {"user", "order", "session"}


def test_sample_rows_of_an_index_have_its_keys(facts):
    table = facts.design.table("Shop")
    rows = sample_rows(facts, table, table.index("GSI1"))
    assert {row.entity.name for row in rows} == {"order"}


def test_the_monthly_cost_is_that_of_the_advised_plans(facts):
    assert facts.monthly == sum(costs.advised.total for costs in facts.costs)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("USER#996ad860-2a9a-504f-8861-aeafd0b2ae29", "USER#996ad860…"),
        ("ORDER#2026-01-01T00:02:00.000000Z#x", "ORDER#2026-01-01T00:02Z#x"),
        ("customer_id-000012", "customer-12"),
        ("01K00000000000000000000007", "01K0…07"),
        (1000, "1000"),
    ],
)
def test_long_values_are_shortened_for_the_eye(value, shown):
    assert shortened(value) == shown


def test_markup_is_not_escaped_twice():
    assert element("b", Markup("&amp;"), "<", class_="x") == '<b class="x">&amp;&lt;</b>'


def test_markdown_has_keys_patterns_costs_and_findings(facts):
    text = markdown_of(facts)
    assert "| order | `USER#{user_id}` | `ORDER#{placed_at}#{order_id}` |" in text
    assert "| waived | `pattern-strong-read` | pattern:user |" in text
    assert "## Costs" in text


@pytest.mark.parametrize(("form", "start"), [("html", "<!doctype html>"), ("markdown", "# shop")])
def test_the_command_writes_a_report(form, start, tmp_path):
    path = tmp_path / "report"
    arguments = ["report", str(HERE / "shop.toml"), "--format", form, "--output", str(path)]
    with pytest.raises(SystemExit) as stopped:
        main(["design", *arguments])
    assert stopped.value.code == 0
    assert path.read_text().startswith(start)
