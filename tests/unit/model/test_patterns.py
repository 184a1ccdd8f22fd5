"""Filter patterns: each documented comparison, how they combine, and what is refused."""

import json

import pytest

from hashrange.model.patterns import PatternError, matches_any, parse_pattern

RECORD = {
    "eventName": "INSERT",
    "userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"},
    "dynamodb": {
        "ApproximateCreationDateTime": 1678831218.0,
        "Keys": {"CustomerName": {"S": "AnyCompany Industries"}},
        "NewImage": {
            "AccountManager": {"S": "Pat Candella"},
            "PaymentTerms": {"S": "60 days"},
            "Nickname": {"S": ""},
            "Age": {"N": "30"},
            "Active": {"BOOL": True},
            "Gone": {"NULL": True},
            "Tags": {"SS": ["blue", "green"]},
            "Lines": {"L": [{"S": "pen"}, {"N": "2"}]},
            "Address": {"M": {"City": {"S": "Ghent"}}},
        },
        "SizeBytes": 26,
        "StreamViewType": "NEW_IMAGE",
    },
}


def image(**attributes):
    return {"dynamodb": {"NewImage": attributes}}


def terms(*alternatives):
    return image(PaymentTerms={"S": list(alternatives)})


def size(*alternatives):
    return {"dynamodb": {"SizeBytes": list(alternatives)}}


MATCHING = {
    "equals": terms("60 days"),
    "one of several": terms("30 days", "60 days"),
    "equals ignoring case": terms({"equals-ignore-case": "60 DAYS"}),
    "empty text": image(Nickname={"S": [""]}),
    "boolean": image(Active={"BOOL": [True]}),
    "number": size(26),
    "number written otherwise": size(26.0),
    "begins with": terms({"prefix": "60"}),
    "begins with, ignoring case": terms({"prefix": {"equals-ignore-case": "60 D"}}),
    "ends with": terms({"suffix": "days"}),
    "ends with, ignoring case": terms({"suffix": {"equals-ignore-case": "DAYS"}}),
    "not": terms({"anything-but": "30 days"}),
    "none of": terms({"anything-but": ["30 days", "90 days"]}),
    "not this number": size({"anything-but": 3}),
    "does not begin with": terms({"anything-but": {"prefix": "30"}}),
    "begins with none of": terms({"anything-but": {"prefix": ["30", "90"]}}),
    "does not end with": terms({"anything-but": {"suffix": "weeks"}}),
    "not, ignoring case": terms({"anything-but": {"equals-ignore-case": ["30 DAYS"]}}),
    "numeric equals": size({"numeric": ["=", 26]}),
    "numeric range": size({"numeric": [">", 25, "<=", 26]}),
    "numeric with one bound": size({"numeric": [">=", 26]}),
    "exists": image(AccountManager={"S": [{"exists": True}]}),
    "attribute does not exist": image(Discount={"S": [{"exists": False}]}),
    "image does not exist": {"dynamodb": {"OldImage": {"Any": {"S": [{"exists": False}]}}}},
    "an object is no leaf": image(AccountManager=[{"exists": False}]),
    "element of a set": image(Tags={"SS": ["green"]}),
    "some element is not": image(Tags={"SS": [{"anything-but": "green"}]}),
    "element of a list": image(Lines={"L": {"S": ["pen"]}}),
    "nested attribute": image(Address={"M": {"City": {"S": ["Ghent"]}}}),
    "and": {"eventName": ["INSERT"], "dynamodb": {"SizeBytes": [26]}},
    "or of names": {"$or": [{"eventName": ["REMOVE"]}, {"dynamodb": {"SizeBytes": [26]}}]},
    "and with or": {"eventName": ["INSERT"], "$or": [{"nothing": ["x"]}, size(26)]},
    "or inside": image(**{"$or": [{"Age": {"N": ["1"]}}, {"Age": {"N": ["30"]}}]}),
    "expired by time to live": {"userIdentity": {"type": ["Service"]}},
}

NOT_MATCHING = {
    "another text": terms("30 days"),
    "case counts": terms("60 DAYS"),
    "other beginning": terms({"prefix": "days"}),
    "other end": terms({"suffix": "60"}),
    "the excluded value": terms({"anything-but": "60 days"}),
    "the excluded beginning": terms({"anything-but": {"prefix": "60"}}),
    "the excluded end": terms({"anything-but": {"suffix": ["days", "weeks"]}}),
    "excluded ignoring case": terms({"anything-but": {"equals-ignore-case": "60 DAYS"}}),
    "absent is not anything": image(Discount={"S": [{"anything-but": "x"}]}),
    "numbers of items are texts": image(Age={"N": [{"numeric": [">", 1]}]}),
    "numbers of items are no numbers": image(Age={"N": [30]}),
    "outside the range": size({"numeric": [">", 26, "<", 30]}),
    "true is not one": image(Active={"BOOL": [1]}),
    "null is not absent": image(Discount={"S": [None]}),
    "exists not": image(Discount={"S": [{"exists": True}]}),
    "is there": image(Age={"N": [{"exists": False}]}),
    "an object does not exist": image(AccountManager=[{"exists": True}]),
    "one name of two": {"eventName": ["INSERT"], "dynamodb": {"SizeBytes": [27]}},
    "no alternative": {"$or": [{"eventName": ["REMOVE"]}, size(27)]},
    "a leaf where an object is": {"dynamodb": ["x"]},
    "an object where a leaf is": {"eventName": {"S": ["INSERT"]}},
}

REFUSED = {
    "not JSON": "{",
    "no object": "[]",
    "empty": "{}",
    "a bare value": '{"eventName": "INSERT"}',
    "no alternatives": '{"eventName": []}',
    "empty object inside": '{"dynamodb": {}}',
    "unknown operator": '{"eventName": [{"like": "IN%"}]}',
    "two operators": '{"eventName": [{"prefix": "I", "suffix": "T"}]}',
    "list in a list": '{"eventName": [["INSERT"]]}',
    "prefix of a number": '{"eventName": [{"prefix": 1}]}',
    "numeric without numbers": '{"a": [{"numeric": [">", "1"]}]}',
    "numeric with lists": '{"a": [{"numeric": [["="], 1]}]}',
    "numeric with half a bound": '{"a": [{"numeric": [">"]}]}',
    "numeric upside down": '{"a": [{"numeric": ["<", 1, ">", 5]}]}',
    "numeric without room": '{"a": [{"numeric": [">", 5, "<", 5]}]}',
    "exists perhaps": '{"a": [{"exists": "yes"}]}',
    "anything-but of both kinds": '{"a": [{"anything-but": ["x", 1]}]}',
    "anything-but nothing": '{"a": [{"anything-but": []}]}',
    "anything-but of a range": '{"a": [{"anything-but": {"numeric": ["=", 1]}}]}',
    "or without patterns": '{"$or": []}',
    "or of values": '{"$or": ["INSERT"]}',
    "too long": '{"a": ["' + "x" * 4096 + '"]}',
    "too deep": '{"a": ' * 70 + "[1]" + "}" * 70,
}


@pytest.mark.parametrize("pattern", MATCHING.values(), ids=MATCHING)
def test_a_pattern_lets_the_record_through(pattern):
    assert parse_pattern(json.dumps(pattern)).matches(RECORD)


@pytest.mark.parametrize("pattern", NOT_MATCHING.values(), ids=NOT_MATCHING)
def test_a_pattern_keeps_the_record_back(pattern):
    assert not parse_pattern(json.dumps(pattern)).matches(RECORD)


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_is_no_pattern_is_refused(text):
    with pytest.raises(PatternError):
        parse_pattern(text)


def test_null_matches_a_null():
    assert parse_pattern('{"a": [null]}').matches({"a": None})
    assert not parse_pattern('{"a": [null]}').matches({"a": ""})


def test_of_several_patterns_one_has_to_match():
    patterns = [parse_pattern('{"a": ["x"]}'), parse_pattern('{"a": ["y"]}')]
    assert matches_any(patterns, {"a": "y"})
    assert not matches_any(patterns, {"a": "z"})
    assert matches_any([], {"a": "z"})
