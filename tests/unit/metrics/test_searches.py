"""Which metrics a search finds."""

import pytest

from hashrange.metrics.math.parser import MathError
from hashrange.metrics.searches import label_of, parse_search, tokens_of
from hashrange.metrics.series import make_series


def series(namespace, name, **dimensions):
    return make_series("1", "r", namespace, name, dimensions)


READS = series("AWS/DynamoDB", "ConsumedReadCapacityUnits", TableName="Music")
WRITES = series("AWS/DynamoDB", "ConsumedWriteCapacityUnits", TableName="Music")
OTHER = series("AWS/DynamoDB", "ConsumedReadCapacityUnits", TableName="my-other_table2")
INDEX = series(
    "AWS/DynamoDB",
    "ConsumedReadCapacityUnits",
    TableName="Music",
    GlobalSecondaryIndexName="ByYear",
)
ERRORS = series("AWS/DynamoDB", "UserErrors")
SALES = series("My Shop", "Sales", Store="a")
ALL = [READS, WRITES, OTHER, INDEX, ERRORS, SALES]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{AWS/DynamoDB,TableName}", [READS, WRITES, OTHER]),
        ("{AWS/DynamoDB, TableName, GlobalSecondaryIndexName}", [INDEX]),
        ("{AWS/DynamoDB}", [ERRORS]),
        ('{"My Shop",Store}', [SALES]),
        ('{"My Shop", "Store"} Sales', [SALES]),
        ('{AWS/DynamoDB,TableName} MetricName="ConsumedReadCapacityUnits"', [READS, OTHER]),
        ('{AWS/DynamoDB,TableName} MetricName="consumedreadcapacityunits"', []),
        ("{AWS/DynamoDB,TableName} MetricName=consumedreadcapacityunits", [READS, OTHER]),
        ("{AWS/DynamoDB,TableName} read", [READS, OTHER]),
        ("{AWS/DynamoDB,TableName} rea", []),
        ("{AWS/DynamoDB,TableName} Music Write", [WRITES]),
        ("{AWS/DynamoDB,TableName} Music AND Write", [WRITES]),
        ("{AWS/DynamoDB,TableName} TableName=Music OR other", [READS, WRITES, OTHER]),
        ("{AWS/DynamoDB,TableName} NOT Music", [OTHER]),
        ("{AWS/DynamoDB,TableName} NOT (Write OR other)", [READS]),
        ("{AWS/DynamoDB,TableName} TableName=my-other_table2", [OTHER]),
        ("{AWS/DynamoDB,TableName} TableName=(other OR nothing)", [OTHER]),
        ('MetricName=("UserErrors" OR "Sales")', [ERRORS, SALES]),
        ("Namespace=shop", [SALES]),
        ('Namespace="AWS/DynamoDB" UserErrors', [ERRORS]),
        ("Store=a", [SALES]),
        ("Store=b", []),
        ("GlobalSecondaryIndexName=year", [INDEX]),
    ],
)
def test_a_search_finds(text, expected):
    test = parse_search(text)
    assert [series for series in ALL if test(series)] == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", "{}", '"open', "(a", "a)", "a OR", "NOT", "= a", "a =", "a = b = c", "AND a"),
        *("(" * 100 + "a" + ")" * 100, "NOT " * 100 + "a", "a" * 1025),
    ],
)
def test_what_is_no_search_is_refused(text):
    with pytest.raises(MathError):
        parse_search(text)


def test_the_tokens_of_a_text_are_its_words():
    assert tokens_of("ReadCapacity2") == {"readcapacity2", "read", "capacity", "2"}
    assert tokens_of("HTTPError") == {"httperror", "http", "error"}
    assert tokens_of("my-table") == {"my-table", "my", "table"}


def test_a_label_tells_metrics_apart():
    assert label_of(READS, [READS, OTHER]) == "Music"
    assert label_of(READS, [READS, WRITES]) == "Music ConsumedReadCapacityUnits"
    assert label_of(ERRORS, [ERRORS]) == "UserErrors"
