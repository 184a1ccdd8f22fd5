"""Functions and triggers in a settings file: what they become, and what is refused."""

import pytest

from hashrange.config import Settings, SettingsError, load_settings

FUNCTIONS = """
[functions.orders]
python = "shop.handlers:orders"
directory = "app"
timeout = 30
concurrency = 2
environment = { STAGE = "test" }

[functions.hook]
http = "https://example.com/hook"

[functions.job]
command = "node run.mjs handler.mjs"
"""
TRIGGER = """
[[triggers]]
table = "orders"
function = "orders"
"""


@pytest.fixture
def load(tmp_path):
    def load_text(text):
        path = tmp_path / "hashrange.toml"
        path.write_text(text)
        return load_settings({"config": str(path)}, {})

    return load_text


def test_functions_of_each_kind(load, tmp_path):
    orders, hook, job = load(FUNCTIONS).functions
    assert (orders.name, orders.kind, orders.target) == ("orders", "python", "shop.handlers:orders")
    # A path in a file is meant from where the file is.
    assert orders.directory == str(tmp_path / "app")
    assert (orders.timeout_seconds, orders.concurrency) == (30, 2)
    assert orders.environment == {"STAGE": "test"}
    assert (hook.kind, hook.target) == ("http", "https://example.com/hook")
    assert (job.kind, job.target) == ("command", "node run.mjs handler.mjs")
    assert job.directory == str(tmp_path)


def test_a_trigger_needs_no_more_than_a_table_and_a_function(load):
    (trigger,) = load(FUNCTIONS + TRIGGER).triggers
    assert (trigger.stream_arn, trigger.function) == ("orders", "orders")
    assert (trigger.account, trigger.region) == ("000000000000", "us-east-1")
    assert trigger.starting_position == "TRIM_HORIZON"
    assert (trigger.batch_size, trigger.lanes) == (100, 1)
    assert trigger.is_enabled
    assert trigger.is_configured


def test_every_option_of_a_trigger(load):
    options = """
account = "123456789012"
region = "eu-west-1"
start = "latest"
batch-size = 5
window = 2
parallel = 3
retries = 4
max-age = 600
bisect = true
report-failures = true
filters = ['{"eventName": ["INSERT"]}']
on-failure = "file:///tmp/lost.jsonl"
enabled = false
"""
    (trigger,) = load(FUNCTIONS + TRIGGER + options).triggers
    assert (trigger.account, trigger.region) == ("123456789012", "eu-west-1")
    assert trigger.starting_position == "LATEST"
    assert (trigger.batch_size, trigger.window_seconds, trigger.lanes) == (5, 2, 3)
    assert (trigger.retries_max, trigger.age_seconds_max) == (4, 600)
    assert trigger.bisects
    assert trigger.reports_failures
    assert trigger.filters == ['{"eventName": ["INSERT"]}']
    assert trigger.destination == "file:///tmp/lost.jsonl"
    assert not trigger.is_enabled


def test_nobody_has_any_by_default():
    assert not Settings().functions
    assert not Settings().triggers


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("functions = 1", "functions are tables"),
        ("[functions]\nf = 1", "functions.f is not a table."),
        ("[functions.f]", "functions.f needs one of python, http, command."),
        (
            '[functions.f]\npython = "a:b"\nhttp = "http://x"',
            "functions.f needs one of python, http, command.",
        ),
        ('[functions.f]\npython = "a"', "functions.f: A Python target is module:function"),
        ('[functions.f]\nhttp = "x"', "functions.f: 'x' is not an http or https URL."),
        ('[functions.f]\ncommand = "a"\nshell = true', "functions.f: shell is not a setting"),
        ('[functions.f]\ncommand = "a"\ntimeout = 0', "functions.f: 1 validation error"),
        ('[functions."a b"]\ncommand = "a"', "functions.a b: The name of a function has letters"),
        ("triggers = 1", "triggers are a list of tables"),
        ("triggers = [1]", "triggers, number 1 is not a table."),
        ('[[triggers]]\nfunction = "f"', "triggers, number 1 needs a text for table."),
        ('[[triggers]]\ntable = "abc"', "triggers, number 1 needs a text for function."),
        (
            '[[triggers]]\ntable = "abc"\nfunction = "f"',
            "triggers, number 1: there is no [functions.f].",
        ),
        (FUNCTIONS + TRIGGER + "batch-size = 0", "triggers, number 1: 1 validation error"),
        (FUNCTIONS + TRIGGER + "max-age = 5", "MaximumRecordAgeInSeconds is -1, or from 60"),
        (FUNCTIONS + TRIGGER + "filters = ['{}']", "Invalid filter pattern definition."),
        (FUNCTIONS + TRIGGER + 'filters = "x"', "triggers, number 1"),
        (FUNCTIONS + TRIGGER + 'start = "now"', "start is trim-horizon or latest, not 'now'."),
        (FUNCTIONS + TRIGGER + "size = 1", "triggers, number 1: size is not a setting"),
        (
            FUNCTIONS + TRIGGER.replace('"orders"', '"a/b"', 1),
            "triggers, number 1: 'a/b' is not the name of a table.",
        ),
        (FUNCTIONS + TRIGGER + 'on-failure = "arn:aws:sqs:x"', "The destination of this server"),
    ],
)
def test_what_makes_no_sense_is_refused(load, text, complaint):
    with pytest.raises(SettingsError) as caught:
        load(text)
    assert complaint in str(caught.value)
