"""Every checker finds the fault that is planted for it, and nothing in honest answers."""

import random
from functools import partial

import pytest

from tests.consistency.campaign import Campaign, Plan
from tests.consistency.lies import Liar
from tests.consistency.promises import Renewals, Tokens
from tests.consistency.registers import build, check_registers
from tests.consistency.schemas import Schemas
from tests.consistency.workloads import Bank, Counters, Lists, Registers
from tests.faults.served import Connection


@pytest.fixture
def findings(dynamodb_server):
    """Run a workload for a moment with connections that lie; return what its checker says."""
    port = int(dynamodb_server.endpoint_url.rpartition(":")[2])

    def run(workload, lie=None, steps=120):
        def connect(rng: random.Random):
            connection = Connection(port)
            return connection if lie is None else Liar(connection, lie, rng)

        # The last look at the end is honest, so that the lie is found in the history.
        campaign = Campaign(connect, [workload], [], Plan(7, steps=steps, clients=3))
        campaign.last_caller = Connection(port)
        return campaign.run()[workload.name]

    return run


@pytest.mark.parametrize("kind", [Lists, Bank, Counters, Tokens, Renewals])
def test_honest_answers_have_no_problem(findings, kind):
    workload = kind()
    assert findings(workload) == []
    assert workload.history.count("ok") > 50


@pytest.mark.parametrize(
    ("kind", "lie"),
    [
        (Lists, "stale_read"),
        (Lists, "lost_write"),
        (Lists, "torn_transaction"),
        (Lists, "fractured_read"),
        (Lists, "denied_write"),
        (Lists, "repeated_write"),
        (Bank, "torn_transaction"),
        (Bank, "fractured_read"),
        (Counters, "lost_write"),
        (Counters, "repeated_write"),
        (Counters, "denied_write"),
        (Tokens, "forgotten_token"),
        (Tokens, "lost_write"),
        (Renewals, "premature_expiry"),
        (Renewals, "lost_write"),
    ],
)
def test_a_lie_is_found(findings, kind, lie):
    assert findings(kind(), lie) != []


def test_tables_that_are_made_again_are_empty_and_their_indexes_right(findings):
    assert findings(Schemas(), steps=2) == []


def test_items_of_an_earlier_table_are_found(findings):
    assert findings(Schemas(seconds=0.2), "kept_items", steps=2) != []


@pytest.fixture(scope="session")
def porcupine(tmp_path_factory):
    return partial(check_registers, build(tmp_path_factory.mktemp("porcupine")))


@pytest.mark.porcupine
def test_honest_registers_have_no_problem(findings, porcupine):
    workload = Registers(porcupine)
    assert findings(workload) == []
    assert workload.history.count("ok") > 50


@pytest.mark.porcupine
@pytest.mark.parametrize("lie", ["stale_read", "lost_write", "denied_write"])
def test_a_lie_about_registers_is_found(findings, porcupine, lie):
    assert findings(Registers(porcupine), lie) != []
