"""Recorded parameters have no item contents and no secrets."""

from hashrange.audit.redaction import HIDDEN, recorded_parameters


def test_contents_and_secrets_are_hidden_and_names_are_kept():
    recorded = recorded_parameters(
        {
            "TableName": "Music",
            "Item": {"artist": {"S": "secret"}},
            "ConditionExpression": "attribute_exists(#a)",
            "ExpressionAttributeValues": {":v": {"S": "secret"}},
            "SSESpecification": {"Enabled": True, "KMSMasterKeyId": "k"},
            "Plaintext": b"secret",
            "Blob": b"secret",
            "Metadata": {"note": "secret"},
        }
    )
    assert recorded == {
        "tableName": "Music",
        "item": HIDDEN,
        "conditionExpression": "attribute_exists(#a)",
        "expressionAttributeValues": HIDDEN,
        "sSESpecification": {"enabled": True, "kMSMasterKeyId": "k"},
        "plaintext": HIDDEN,
        "blob": HIDDEN,
        "metadata": HIDDEN,
    }


def test_batches_and_transactions_name_their_tables():
    batch = recorded_parameters({"RequestItems": {"A": [], "B": []}})
    assert batch == {"requestItems": HIDDEN, "tableNames": ["A", "B"]}
    steps = [{"Put": {"TableName": "A"}}, {"Delete": {"TableName": "A"}}, {"Get": 3}, 4]
    assert recorded_parameters({"TransactItems": steps})["tableNames"] == ["A"]


def test_long_and_deep_parameters_are_cut():
    nested: dict = {}
    inner = nested
    for _ in range(20):
        inner["a"] = {}
        inner = inner["a"]
    recorded = recorded_parameters({"Text": "x" * 5000, "List": list(range(500)), "Deep": nested})
    assert len(recorded["text"]) == 2049
    assert len(recorded["list"]) == 100
    assert "…" in str(recorded["deep"])
