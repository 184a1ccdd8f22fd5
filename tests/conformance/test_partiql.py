"""ExecuteStatement: what statements read and write, in pages and at which price."""

import re
from typing import Any

import pytest

from tests.conformance.conftest import eventually, wait_for_index

ITEM: dict[str, Any] = {
    "p": {"S": "k"},
    "n": {"N": "5"},
    "s": {"S": "hello"},
    "t": {"BOOL": True},
    "nil": {"NULL": True},
    "ss": {"SS": ["a", "b"]},
    "l": {"L": [{"N": "1"}, {"S": "x"}, {"M": {"k": {"S": "v"}}}]},
    "m": {"M": {"x": {"S": "y"}, "sub": {"M": {"z": {"N": "1"}}}}},
}
HOLDS = [
    "n = 5.0",
    "5 = n",
    "n <> 6",
    "n != 6",
    "n < 6 AND n <= 5 AND n > 4 AND n >= 5",
    "n BETWEEN 4 AND 6",
    "n NOT BETWEEN 6 AND 7",
    "n IN [4, 5]",
    "n IN (5)",
    "n NOT IN [6]",
    "NOT n = 6",
    "(n = 6 OR n = 5) AND NOT (s = 'x')",
    "begins_with(s, 'he')",
    "BEGINS_WITH(s, 'he') = true",
    "begins_with(s, 'x') = false",
    "contains(ss, 'a')",
    "contains(s, 'ell')",
    "attribute_type(ss, 'SS')",
    "attribute_exists(m.x) AND attribute_not_exists(m.zzz)",
    "size(s) = 5",
    "size(l) > 2",
    "zzz IS MISSING",
    "s IS NOT MISSING",
    "nil IS NULL AND nil = null",
    "s IS NOT NULL",
    "t IS BOOL AND s IS STRING AND n IS NUMERIC AND l IS LIST AND m IS STRUCT",
    "t = true",
    "m.x = 'y' AND l[1] = 'x' AND l[2].k = 'v'",
    "l = [1, 'x', {'k': 'v'}]",
    "m = {'sub': {'z': 1.0}, 'x': 'y'}",
    "ss = <<'b', 'a'>>",
    "n = -+-5.0e0",
    "n = 500e-2 AND n > .5",
]


@pytest.fixture
def run(client):
    def execute(statement, *parameters, **more):
        if parameters:
            more["Parameters"] = list(parameters)
        return client.execute_statement(Statement=statement, **more)

    return execute


@pytest.fixture
def table(client, tables):
    name = tables.create("p:S")
    client.put_item(TableName=name, Item=ITEM)
    return name


@pytest.fixture
def ordered(client, tables):
    """A table of two partitions, "a" with six items and "b" with one, and its indexes."""
    name = tables.create(
        "p:S",
        "r:N",
        local={"local": ("p:S", "v:S")},
        indexes={"global": ("g:S", "r:N")},
        projections={
            "local": {"ProjectionType": "KEYS_ONLY"},
            "global": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["w"]},
        },
    )
    for number in range(6):
        item = {
            "p": {"S": "a"},
            "r": {"N": str(number)},
            "g": {"S": "odd" if number % 2 else "even"},
            "v": {"S": f"v{9 - number}"},
            "w": {"S": f"w{number}"},
            "x": {"S": f"x{number}"},
        }
        client.put_item(TableName=name, Item=item)
    client.put_item(TableName=name, Item={"p": {"S": "b"}, "r": {"N": "1"}})
    wait_for_index(client, name, "global", 6)
    return name


def numbers(response, name="r"):
    return [int(item[name]["N"]) for item in response["Items"]]


@pytest.mark.parametrize("condition", HOLDS)
def test_a_condition_that_holds_selects_the_item(run, table, condition):
    query = run(f"SELECT * FROM \"{table}\" WHERE p = 'k' AND ({condition})")
    assert query["Items"] == [ITEM]
    scan = run(f'SELECT p FROM "{table}" WHERE {condition}')
    assert scan["Items"] == [{"p": {"S": "k"}}]
    negated = run(f'SELECT p FROM "{table}" WHERE NOT ({condition})')
    assert negated["Items"] == []


def test_parameters_stand_for_values(run, table):
    statement = f'SELECT p FROM "{table}" WHERE p = ? AND n IN [?, ?] AND begins_with(s, ?) = ?'
    values = [{"S": "k"}, {"N": "4"}, {"N": "5.0"}, {"S": "he"}, {"BOOL": True}]
    assert len(run(statement, *values)["Items"]) == 1
    assert run(statement, *values[:-1], {"BOOL": False})["Items"] == []


@pytest.mark.parametrize(
    ("paths", "selected"),
    [
        ("p, n", {"p": {"S": "k"}, "n": {"N": "5"}}),
        ("m.x, m.sub.z", {"x": {"S": "y"}, "z": {"N": "1"}}),
        ("m['x']", {"x": {"S": "y"}}),
        ("l[0], l[2]", {"l[0]": {"N": "1"}, "l[2]": {"M": {"k": {"S": "v"}}}}),
        ("m.nope, l[9]", {}),
    ],
)
def test_a_path_is_returned_under_its_last_name(run, table, paths, selected):
    assert run(f"SELECT {paths} FROM \"{table}\" WHERE p = 'k'")["Items"] == [selected]


@pytest.mark.beyond_dynamodb_local("takes such names for placeholders")
def test_names_in_quotes_may_be_anything(run, tables):
    name = tables.create("p:S")
    run(f"INSERT INTO \"{name}\" VALUE {{'p': 'k', '#x': 1, ':y': {{'select': 2}}}}")
    where = "WHERE p = 'k' AND \"#x\" = 1"
    found = run(f'SELECT "#x", ":y"."select" FROM "{name}" {where}')
    assert found["Items"] == [{"#x": {"N": "1"}, "select": {"N": "2"}}]
    updated = run(f'UPDATE "{name}" SET "#x" = "#x" + 1 {where} RETURNING MODIFIED NEW *')
    assert updated["Items"] == [{"#x": {"N": "2"}}]


def test_comments_are_white_space(run, table):
    statement = (
        f"-- all of it\nSELECT /* really */ * FROM \"{table}\" -- but\nWHERE p = 'zz' -- not"
    )
    assert run(statement)["Items"] == []


@pytest.mark.beyond_dynamodb_local("reads 3 < r as r < 3")
def test_conditions_on_the_sort_key_select_a_range(run, ordered):
    def where(condition, order="ASC"):
        statement = f"SELECT r FROM \"{ordered}\" WHERE p = 'a' AND {condition} ORDER BY r {order}"
        return numbers(run(statement))

    assert where("r > 3") == [4, 5]
    assert where("3 < r") == [4, 5]
    assert where("r BETWEEN 1 AND 3", "DESC") == [3, 2, 1]
    assert where("r > 1 AND r < 4") == [2, 3]
    assert where("r IN [1, 3]") == [1, 3]
    assert where("NOT r = 3", "DESC") == [5, 4, 2, 1, 0]


@pytest.mark.beyond_dynamodb_local("no capacity for statements")
def test_alternatives_that_all_name_a_partition_are_queries(run, ordered):
    def units(where):
        found = run(f'SELECT r FROM "{ordered}" WHERE {where}', ReturnConsumedCapacity="TOTAL")
        return numbers(found), found["ConsumedCapacity"]["CapacityUnits"]

    assert units("p IN ['b', 'a', 'b']") == ([0, 1, 2, 3, 4, 5, 1], 1.0)
    assert units("p = 'b' OR p = 'a'") == ([1, 0, 1, 2, 3, 4, 5], 1.0)
    assert units("p = 'a' AND r = 1 OR p = 'a' AND r = 4") == ([1, 4], 1.0)
    assert units("p = 'a' AND NOT r = 1 OR p = 'a' AND r = 2") == ([0, 2, 3, 4, 5], 0.5)


@pytest.mark.beyond_dynamodb_local("no capacity for statements")
def test_a_select_without_its_partition_key_pays_for_a_scan(client, run, tables):
    name = tables.create("p:S")
    for number in range(3):
        item = {"p": {"S": str(number)}, "text": {"S": "x" * 6000}}
        client.put_item(TableName=name, Item=item)

    def units(where, **more):
        found = run(f'SELECT p FROM "{name}"{where}', ReturnConsumedCapacity="TOTAL", **more)
        return found["ConsumedCapacity"]["CapacityUnits"]

    assert units(" WHERE p = '1'") == 1.0
    assert units(" WHERE p = '1'", ConsistentRead=True) == 2.0
    assert units(" WHERE text = 'y'") == 2.5
    assert units("") == 2.5
    assert units(" WHERE p >= '1'") == 2.5
    assert units(" WHERE p = '1' OR text = 'y'") == 2.5


@pytest.mark.beyond_dynamodb_local("forgets the order of pages")
@pytest.mark.parametrize(
    "where",
    ["", " WHERE p = 'a'", " WHERE p = 'a' ORDER BY r DESC", " WHERE p IN ['a', 'b', 'c']"],
)
def test_pages_give_every_item_once(run, ordered, where):
    statement = f'SELECT p, r FROM "{ordered}"{where}'
    whole = run(statement)["Items"]
    page = run(statement, Limit=2)
    items, pages = page["Items"], 1
    while "NextToken" in page:
        page = run(statement, Limit=2, NextToken=page["NextToken"])
        items += page["Items"]
        pages += 1
    assert items == whole
    assert pages > 2


@pytest.mark.beyond_dynamodb_local("takes any token")
def test_a_token_goes_on_with_its_own_statement_only(run, ordered, refused):
    token = run(f"SELECT r FROM \"{ordered}\" WHERE p = 'a'", Limit=1)["NextToken"]
    with refused("ValidationException", "NextToken does not match request"):
        run(f"SELECT r FROM \"{ordered}\" WHERE p = 'b'", NextToken=token)
    for wrong in ("abc", token[:-8], "A" * 40):
        with refused("ValidationException", re.compile("NextToken")):
            run(f"SELECT r FROM \"{ordered}\" WHERE p = 'a'", NextToken=wrong)


def test_an_index_is_read_by_its_own_keys(run, ordered):
    found = run(f'SELECT * FROM "{ordered}"."global" WHERE g = \'odd\' ORDER BY r DESC')
    assert numbers(found) == [5, 3, 1]
    assert set(found["Items"][0]) == {"p", "r", "g", "w"}
    assert numbers(run(f"SELECT r FROM \"{ordered}\".\"global\" WHERE p = 'a' AND w = 'w2'")) == [2]
    local = run(f"SELECT r FROM \"{ordered}\".\"local\" WHERE p = 'a' AND v < 'v6'")
    assert numbers(local) == [5, 4]


@pytest.mark.beyond_dynamodb_local("no capacity for statements")
def test_a_local_index_reaches_back_and_pays_for_every_row(run, ordered):
    def capacity(statement):
        found = run(statement, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
        index = found.get("LocalSecondaryIndexes", {}).get("local", {})
        return found["Table"]["CapacityUnits"], index.get("CapacityUnits")

    assert capacity(f'SELECT v FROM "{ordered}"."local" WHERE p = \'a\'') == (0.0, 0.5)
    assert capacity(f'SELECT x FROM "{ordered}"."local" WHERE p = \'a\'') == (3.0, 0.5)


def test_insert_puts_a_new_item_only(client, run, tables, refused):
    name = tables.create("p:S")
    inserted = run(
        f"INSERT INTO \"{name}\" VALUE {{'p': ?, 'l': [1, null, true], 's': <<1.50, 2>>}}",
        {"S": "k"},
    )
    assert inserted["Items"] == []
    item = client.get_item(TableName=name, Key={"p": {"S": "k"}})["Item"]
    assert item["l"] == {"L": [{"N": "1"}, {"NULL": True}, {"BOOL": True}]}
    assert sorted(item["s"]["NS"]) == ["1.5", "2"]


@pytest.mark.beyond_dynamodb_local("calls it DuplicateItem")
def test_insert_refuses_a_key_that_is_taken(run, table, refused):
    with refused("DuplicateItemException", "Duplicate primary key exists in table"):
        run(f"INSERT INTO \"{table}\" VALUE {{'p': 'k'}}")


@pytest.mark.parametrize(
    ("changes", "modified"),
    [
        ("SET n = n + 1", {"n": {"N": "6"}}),
        ("SET n = 10 - n SET s = 'x'", {"n": {"N": "5"}, "s": {"S": "x"}}),
        ("SET n = 1 + 2 + 3, s = ?", {"n": {"N": "6"}, "s": {"S": "given"}}),
        ("SET l = list_append(l, [2])", {"l": {"L": [*ITEM["l"]["L"], {"N": "2"}]}}),
        ("SET l = list_append(['a'], l)", {"l": {"L": [{"S": "a"}, *ITEM["l"]["L"]]}}),
        ("SET l[0] = 7", {"l": {"L": [{"N": "7"}, *ITEM["l"]["L"][1:]]}}),
        ("REMOVE l[0]", {"l": {"L": ITEM["l"]["L"][1:]}}),
        ("SET fresh = if_not_exists(fresh, 1)", {"fresh": {"N": "1"}}),
        ("SET fresh = set_add(fresh, <<'c'>>)", {"fresh": {"SS": ["c"]}}),
        ("SET ss = SET_DELETE(ss, <<'a', 'z'>>)", {"ss": {"SS": ["b"]}}),
        ("SET ss = set_delete(ss, <<'a', 'b'>>)", None),
        ("REMOVE s REMOVE n", None),
        ("SET m.x = 1", {"m": {"M": {"x": {"N": "1"}, "sub": ITEM["m"]["M"]["sub"]}}}),
    ],
)
def test_update_changes_what_it_says(run, table, changes, modified):
    parameters = [{"S": "given"}] if "?" in changes else []
    statement = f"UPDATE \"{table}\" {changes} WHERE p = 'k' RETURNING MODIFIED NEW *"
    assert run(statement, *parameters)["Items"] == ([] if modified is None else [modified])


def test_update_returns_the_images_asked_for(run, table):
    def update(change, returning):
        return run(f"UPDATE \"{table}\" SET {change} WHERE p = 'k' RETURNING {returning}")["Items"]

    assert update("n = 6", "ALL OLD *") == [ITEM]
    assert update("n = 7", "MODIFIED OLD *") == [{"n": {"N": "6"}}]
    assert update("n = 5", "ALL NEW *") == [ITEM]
    assert run(f"UPDATE \"{table}\" SET n = 5 WHERE p = 'k'")["Items"] == []


def test_update_with_from_first(run, table):
    run(f'FROM "{table}" WHERE p = ? AND n = 5 SET n = ? REMOVE s', {"S": "k"}, {"N": "8"})
    (item,) = run(f'SELECT * FROM "{table}"')["Items"]
    assert item["n"] == {"N": "8"}
    assert "s" not in item


def test_a_write_is_conditional_on_the_rest_of_its_where_clause(client, run, table, refused):
    failed = "The conditional request failed"
    with refused("ConditionalCheckFailedException", failed):
        run(f"UPDATE \"{table}\" SET n = 6 WHERE p = 'nobody'")
    with refused("ConditionalCheckFailedException", failed):
        run(f"DELETE FROM \"{table}\" WHERE p = 'k' AND attribute_exists(nope)")
    with refused("ConditionalCheckFailedException", failed) as caught:
        run(
            f"UPDATE \"{table}\" SET n = 6 WHERE p = 'k' AND (n = 4 OR n = 6)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert caught.value.response["Item"] == ITEM
    assert client.get_item(TableName=table, Key={"p": {"S": "k"}})["Item"] == ITEM


def test_delete_returns_the_item_and_minds_no_absence(run, table):
    assert run(f"DELETE FROM \"{table}\" WHERE p = 'nobody'")["Items"] == []
    assert run(f"DELETE FROM \"{table}\" WHERE p = 'nobody' AND n = 1")["Items"] == []
    assert run(f"DELETE FROM \"{table}\" WHERE p = 'k' RETURNING ALL OLD *")["Items"] == [ITEM]
    assert run(f'SELECT * FROM "{table}"')["Items"] == []


def test_writes_keep_indexes_up_to_date(run, ordered):
    run(f"UPDATE \"{ordered}\" SET g = 'odd' WHERE p = 'a' AND r = 0")
    run(f"DELETE FROM \"{ordered}\" WHERE p = 'a' AND r = 1")
    run(f"INSERT INTO \"{ordered}\" VALUE {{'p': 'c', 'r': 9, 'g': 'odd'}}")
    statement = f'SELECT r FROM "{ordered}"."global" WHERE g = \'odd\''
    eventually(lambda: numbers(run(statement)) == [0, 3, 5, 9])


def test_items_of_400_kilobytes_fit_to_the_byte(run, tables, refused):
    name = tables.create("p:S")
    room = 409_600 - len("pkxv")
    insert = f"INSERT INTO \"{name}\" VALUE {{'p': 'kx', 'v': ?}}"
    with refused("ValidationException", "Item size has exceeded the maximum allowed size"):
        run(insert, {"S": "x" * (room + 1)})
    run(insert, {"S": "x" * room})
    update = f"UPDATE \"{name}\" SET v = ? WHERE p = 'kx'"
    run(update, {"S": "y" * room})
    message = "Item size to update has exceeded the maximum allowed size"
    with refused("ValidationException", message):
        run(update, {"S": "y" * (room + 1)})
