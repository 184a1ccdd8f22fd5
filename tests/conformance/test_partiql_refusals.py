"""Statements that are refused, in AWS's words and in its order."""

import re

import pytest

MALFORMED = "Statement wasn't well formed, can't be processed: "
LEFTOVER = MALFORMED + "Unexpected token after expression"
NO_KEY = "Where clause does not contain a mandatory equality on all key attributes"
INVALID = "One or more parameter values were invalid: "

# Statements on the table T, and where a position is part of the message, the token it points at.
PARSER = [
    ("SLECT * FROM T WHERE p = 'k'", MALFORMED + "Expected data manipulation"),
    ("SELECT * FROM T WHERE p = 'k' foo", LEFTOVER),
    ("SELECT * FROM T WHERE n = 1 e5", LEFTOVER),
    ("SELECT * FROM T WHERE p = 'k')", LEFTOVER),
    ("SELECT * FROM T ORDER BY p WHERE p = 'k'", LEFTOVER),
    ("INSERT INTO T VALUE {'p': 'x'} foo", LEFTOVER),
    ("INSERT INTO T t VALUE {'p': 'x'}", LEFTOVER),
    ("UPDATE T SET n = 9 WHERE p = 'k' foo", LEFTOVER),
    ("DELETE FROM T WHERE p = 'k' ORDER BY p", LEFTOVER),
    ("FROM T SET n = 1 WHERE p = 'k'", LEFTOVER),
    ("SELECT * FROM T WHERE", MALFORMED + "Unexpected term"),
    ("SELECT * FROM T WHERE;", MALFORMED + "Unexpected term"),
    ("SELECT * FROM T WHERE NOT", MALFORMED + "Unexpected term"),
    ("SELECT * FROM T WHERE (", MALFORMED + "Unexpected term"),
    ("SELECT * FROM", MALFORMED + "Unexpected term"),
    (
        "SELECT * FROM T WHERE p = 'k' AND",
        MALFORMED + "Missing right-hand side expression of infix operator",
    ),
    ("SELECT * FROM T WHERE ORDER BY p", MALFORMED + "Unexpected keyword"),
    ("INSERT INTO T (key) VALUES (?)", MALFORMED + "Unexpected keyword"),
    ("SELECT * FROM T WHERE IS NULL", MALFORMED + "Unexpected operator"),
    ("SELECT * FROM T WHERE p = LIKE", MALFORMED + "Unexpected operator"),
    ("SELECT * FROM T WHERE p = 'k' AND n IS FOO", MALFORMED + "Expected type name"),
    ("DELETE FROM WHERE p = 'k'", MALFORMED + "Expected identifier for simple path"),
    ("SELECT * FROM T WHERE m.inner = 1", MALFORMED + "Invalid path dot component"),
    ("SELECT * FROM T WHERE n = 1e2147483648", MALFORMED),
    ("SELECT * FROM T WHERE n = 1.5e-2147483647", MALFORMED),
    ("SELECT * FROM T WHERE n = 1 # note", MALFORMED),
    ("SELECT * FROM T WHERE n = 1 /* note", MALFORMED),
    ("x IS INT4", "Unsupported operation: IsType"),
    ("x IS CHARACTER VARYING", "Unsupported operation: IsType"),
]
CLAUSES = [
    ("SELECT * FROM T t WHERE p = 'x'", "Aliasing is not supported"),
    ("SELECT * FROM T AS t", "Aliasing is not supported"),
    ("SELECT p AS x FROM T", "Aliasing is not supported"),
    ("UPDATE T t SET n = 3 WHERE p = 'x'", "Aliasing is not supported"),
    ("DELETE FROM T t WHERE p = 'x'", "Aliasing is not supported"),
    ("SELECT * FROM T GROUP BY p", "Unsupported clause: GROUP BY"),
    ("SELECT * FROM T, T", "Only select from a single table or index is supported."),
    (
        "SELECT * FROM T ORDER BY p",
        "Must have WHERE clause in the statement when using ORDER BY clause.",
    ),
    (
        "SELECT * FROM T WHERE n = 1 ORDER BY p",
        "Must have at least one non-optional hash key condition in WHERE clause when using "
        "ORDER BY clause.",
    ),
    (
        "SELECT * FROM T WHERE p = 'k' ORDER BY n",
        "Variable reference n in ORDER BY clause must be part of the primary key",
    ),
    ("SELECT m.x, n, x FROM T", "Duplicate identifiers in select clause: x"),
    ('SELECT * FROM T."i"."x"', "A path may contain at most 2 components in the FROM clause"),
    ('SELECT * FROM T.""', "Path component cannot be an empty string"),
    ('SELECT * FROM "" WHERE p = 1', "Path component cannot be an empty string"),
    ('SELECT * FROM T.T WHERE p = "x"', "The table does not have the specified index"),
    (
        'INSERT INTO T."i" VALUE {}',
        "FROM clause may only contain a single table name in data manipulation statements",
    ),
    ('UPDATE T."i" SET n = 1', "This operation is not supported on an index"),
    ('DELETE FROM T."i"', "This operation is not supported on an index"),
    (
        "DELETE FROM T WHERE p = 'x' RETURNING MODIFIED OLD *",
        "Invalid returning clause: RETURNING MODIFIED OLD *. "
        "Only RETURNING ALL OLD * is allowed in DELETE statements.",
    ),
    (
        "EXISTS(SELECT * FROM T WHERE p = 'k')",
        "EXISTS can only be used in ExecuteTransaction write requests.",
    ),
]
VALUES = [
    (
        "SELECT * FROM T WHERE p = ?",
        "Number of parameters in request and statement don't match.",
    ),
    (
        "INSERT INTO T VALUE {'p': 'x', 'm': {'x': 1e126}}",
        "Number overflow. Attempting to store a number with magnitude larger than supported range "
        "under root.x",
    ),
    (
        "UPDATE T SET n = [1, 1e-131] WHERE p = 'k'",
        "Number underflow. Attempting to store a number with magnitude smaller than supported "
        "range under root[1]",
    ),
    (
        f"SELECT * FROM T WHERE n = {'1' * 39}",
        "Attempting to store more than 38 significant digits in a Number under root",
    ),
    (
        "UPDATE T SET ss = set_add(ss, <<'x', 'x'>>) WHERE p = 'k'",
        INVALID + "Input collection [x, x] contains duplicates.",
    ),
    ("UPDATE T SET ss = set_add(ss, <<>>) WHERE p = 'k'", "Empty bags are not supported"),
    (
        "INSERT INTO T VALUE {'p': 5}",
        "Key attribute's data type should match its data type in table's schema: Key p",
    ),
    ("INSERT INTO T VALUE {'n': 5}", "Key attribute should be present in the item: Key p"),
    (
        "SELECT * FROM T WHERE p = 5",
        "Key attribute's data type should match its data type in table's schema: Key p",
    ),
]
CONDITIONS = [
    (
        "attribute_exists('ss')",
        "Operator or function requires a document path; operator or function: attribute_exists",
    ),
    (
        "attribute_exists()",
        "Incorrect number of operands for operator or function; operator or "
        "function: attribute_exists, number of operands: 0",
    ),
    (
        "attribute_exists(ss, n)",
        "Incorrect number of operands for operator or function; operator "
        "or function: attribute_exists, number of operands: 2",
    ),
    (
        "n < true",
        "Incorrect operand type for operator or function; operator or function: <, "
        "operand type: BOOL",
    ),
    (
        "n BETWEEN 2 AND 1",
        "The BETWEEN operator requires upper bound to be greater than or equal "
        "to lower bound; lower bound operand: AttributeValue: {N:2}, upper bound operand: "
        "AttributeValue: {N:1}",
    ),
    (
        "n = n",
        "The first operand must be distinct from the remaining operands for this operator "
        "or function; operator: =, first operand: [n]",
    ),
    ("n = 2 + 3", "Unsupported operator in Condition Expression. Operator: +"),
    ("n = MISSING", "MISSING must be compared using IS operator"),
    ("n AND t", "The arguments to AND/OR must be Expressions"),
    ("NOT n", "The argument to NOT must be a Type or Expression"),
    ("n", "WHERE clause must contain an expression that resolves to a boolean"),
    (
        "p.x = 1",
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are "
        "not allowed: Key: p",
    ),
]
POINTED = [
    ("SELECT @attribute_exists@(ss) FROM T", "Unexpected path component at "),
    ("SELECT * FROM T WHERE @EXISTS@(ss)", "Unrecognized function: exists at "),
    ("SELECT * FROM T WHERE @set_add@(ss, <<'x'>>) = ss", "Unrecognized function: set_add at "),
    (
        "INSERT INTO T VALUE {'p': 'x', 'ss': @set_add@(<<'a'>>, <<'b'>>)}",
        "Unsupported data type: set_add under key root at ",
    ),
    (
        "UPDATE T SET t = @set_add@(ss, <<'x'>>) WHERE p = 'k'",
        "The first argument to SET_ADD must equal the assignment value at ",
    ),
    (
        "UPDATE T SET ss = set_delete(@ss@, ['x']) WHERE p = 'k'",
        "The second argument to SET_DELETE must be a value with type SET at ",
    ),
    (
        "UPDATE T SET ss = @set_add@(ss) WHERE p = 'k'",
        "SET_ADD must have exactly two arguments at ",
    ),
]
WRITES = [
    ("UPDATE T SET n = 1", NO_KEY),
    ("UPDATE T SET n = 1 WHERE n = 1", NO_KEY),
    ("UPDATE T SET n = 1 WHERE p IN ['k']", NO_KEY),
    ("DELETE FROM T WHERE p = 'k' OR p = 'l'", NO_KEY),
    (
        "UPDATE T SET n = 1 WHERE p = 'k' AND p = 'l'",
        "Multiple conditions on same key p. Only single item Update/Insert/Delete are supported",
    ),
    (
        "UPDATE T SET p = 'l' WHERE p = 'k'",
        INVALID + "Cannot update attribute p. This attribute is part of the key",
    ),
    (
        "UPDATE T SET m = 1, m.x = 2 WHERE p = 'k'",
        "Two document paths overlap with each other; must remove or rewrite one of these paths; "
        "path one: [m, x], path two: [m]",
    ),
    (
        "UPDATE T SET ss = set_add(ss, <<1>>) WHERE p = 'k'",
        "An operand in the update expression has an incorrect data type",
    ),
    (
        "UPDATE T SET n = nope WHERE p = 'k'",
        "The provided expression refers to an attribute that does not exist in the item",
    ),
    (
        "UPDATE T SET n = size(ss) WHERE p = 'k'",
        "The function is not allowed in an update expression; function: size",
    ),
    (
        "UPDATE T SET n = n * 2 WHERE p = 'k'",
        "Unsupported operator in Update Expression. Operator: *",
    ),
]


@pytest.fixture
def table(client, tables):
    name = tables.create("p:S")
    item = {"p": {"S": "k"}, "n": {"N": "1"}, "ss": {"SS": ["a"]}}
    client.put_item(TableName=name, Item=item)
    return name


def on(statement, table):
    return re.sub(r"\bT\b", f'"{table}"', statement)


@pytest.mark.beyond_dynamodb_local("parses with another parser")
@pytest.mark.parametrize(("statement", "message"), PARSER)
def test_what_does_not_parse(client, table, refused, statement, message):
    with refused("ValidationException", message):
        client.execute_statement(Statement=on(statement, table))


@pytest.mark.beyond_dynamodb_local("words some of them in another way")
@pytest.mark.parametrize(("statement", "message"), [*CLAUSES, *VALUES, *WRITES])
def test_what_is_not_supported(client, table, refused, statement, message):
    with refused("ValidationException", message):
        client.execute_statement(Statement=on(statement, table))
    item = client.get_item(TableName=table, Key={"p": {"S": "k"}})["Item"]
    assert item["n"] == {"N": "1"}


@pytest.mark.parametrize(("condition", "message"), CONDITIONS)
def test_conditions_that_are_none(client, table, refused, condition, message):
    with refused("ValidationException", message):
        client.execute_statement(Statement=f'SELECT * FROM "{table}" WHERE {condition}')


@pytest.mark.beyond_dynamodb_local("points at nothing")
@pytest.mark.parametrize(("statement", "message"), POINTED)
def test_messages_point_at_a_token(client, table, refused, statement, message):
    before, token, after = on(statement, table).split("@")
    place = f"1:{len(before) + 1}:{len(token)}"
    with refused("ValidationException", message + place):
        client.execute_statement(Statement=before + token + after)


@pytest.mark.beyond_dynamodb_local("has other words for parameters")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1e99999999999", "The parameter cannot be converted to a numeric value: 1e99999999999"),
        ("", "The parameter cannot be converted to a numeric value"),
        (
            "1e2147483647",
            "Number underflow. Attempting to store a number with magnitude smaller than "
            "supported range",
        ),
    ],
)
def test_parameters_that_are_no_numbers(client, table, refused, text, message):
    with refused("ValidationException", message):
        client.execute_statement(
            Statement=f'SELECT * FROM "{table}" WHERE n = ?', Parameters=[{"N": text}]
        )


def test_operand_types_are_checked_before_the_table_is_looked_for(client, refused):
    with refused("ValidationException", re.compile("Incorrect operand type")):
        client.execute_statement(
            Statement="SELECT * FROM absent WHERE p = 'k' AND n < ?", Parameters=[{"BOOL": True}]
        )


@pytest.mark.beyond_dynamodb_local("says it in other words")
def test_a_table_that_is_not_there(client, refused):
    with refused("ResourceNotFoundException", "Requested resource not found"):
        client.execute_statement(Statement="SELECT * FROM absent WHERE p = 'k'")


@pytest.mark.beyond_dynamodb_local("reads what AWS refuses")
def test_reads_of_indexes_that_are_refused(client, tables, refused):
    name = tables.create(
        "p:S",
        "r:S",
        local={"local": ("p:S", "v:S")},
        indexes={"global": ("g:S",), "many": ("h:S", "+i:S")},
        projections={
            "local": {"ProjectionType": "KEYS_ONLY"},
            "global": {"ProjectionType": "KEYS_ONLY"},
        },
    )

    def select(index, list_and_where, **more):
        what, _, where = list_and_where.partition(" WHERE ")
        statement = f'SELECT {what} FROM "{name}"."{index}"' + (f" WHERE {where}" if where else "")
        return client.execute_statement(Statement=statement, **more)

    for index, where in (("global", "g = 'x'"), ("local", "p = 'x'"), ("global", "g IN ['x']")):
        message = f"{INVALID}Secondary index {index} does not project one or more filter attributes"
        with refused("ValidationException", f"{message}: [w]"):
            select(index, f"p WHERE {where} AND NOT w = 1")
    assert select("global", "p WHERE w = 1")["Items"] == []
    message = f"{INVALID}Global secondary index global does not project [x, w]"
    with refused("ValidationException", message):
        select("global", "x, p, w")
    message = "Strongly consistent read is not supported on Global Secondary Indexes"
    with refused("ValidationException", message):
        select("global", "* WHERE g = 'x'", ConsistentRead=True)
    message = (
        "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or "
        "multi-attribute RANGE keys."
    )
    for what in ("* WHERE h = 5", "COUNT(*)", "*"):
        with refused("ValidationException", message):
            select("many", what)


@pytest.mark.beyond_dynamodb_local("reads what AWS refuses")
def test_alternatives_that_overlap_on_the_sort_key(client, tables, refused):
    name = tables.create("p:S", "r:S")
    message = "Overlapping conditions with range keys are not supported in where clause"
    for other in ("x = '1'", "r > '1'"):
        with refused("ValidationException", message):
            client.execute_statement(
                Statement=f"SELECT * FROM \"{name}\" WHERE p = 'a' AND {other} "
                "OR p = 'a' AND r = '2'"
            )


@pytest.mark.beyond_dynamodb_local("fails")
def test_deeply_nested_statements_are_refused_and_harmless(client, table, refused):
    for nested in ("(" * 2000, "NOT " * 1900, "[" * 3000, "{'a':" * 1500, "-" * 3 + "+" * 3000):
        with refused("ValidationException", re.compile("wasn't well formed")):
            client.execute_statement(Statement=f'SELECT * FROM "{table}" WHERE n = {nested}')
    chain = " + ".join(["1"] * 2000)
    with refused("ValidationException", re.compile("wasn't well formed")):
        client.execute_statement(Statement=f"UPDATE \"{table}\" SET n = {chain} WHERE p = 'k'")
    chain = " AND ".join(["n = 1"] * 700)
    statement = f'SELECT n FROM "{table}" WHERE {chain}'
    assert client.execute_statement(Statement=statement)["Items"] == [{"n": {"N": "1"}}]


@pytest.mark.parametrize("name", ["f:zz", "a:b:c", "ab", "no spaces", "arn:aws:s3:::table/abc"])
@pytest.mark.beyond_dynamodb_local("it has its own wording")
def test_a_name_that_no_table_can_have_is_refused(client, refused, name):
    message = (
        "Invalid table/index name.  Table/index names must be between 3 and 255 characters long, "
        "and may contain only the characters a-z, A-Z, 0-9, '_', '-', and '.'"
    )
    for statement in (f'SELECT * FROM "{name}"', f"DELETE FROM \"{name}\" WHERE p = 'k'"):
        with refused("ValidationException", message):
            client.execute_statement(Statement=statement)
