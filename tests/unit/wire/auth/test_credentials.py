"""The credentials file, and what is said about wrong ones."""

import pytest

from hashrange.wire.auth.credentials import CredentialsFileError, load_credentials


def load(tmp_path, text):
    path = tmp_path / "keys.toml"
    path.write_text(text)
    return load_credentials(path)


def test_keys_have_secrets_accounts_and_tokens(tmp_path):
    credentials = load(
        tmp_path,
        """
        [AKID]
        secret = "s1"
        [123456789012]
        secret = "s2"
        [SESSION]
        secret = "s3"
        account = "210987654321"
        token = "t"
        """,
    )
    assert [
        (key.access_key, key.secret, key.grants.principal.account, key.token)
        for key in credentials.values()
    ] == [
        ("AKID", "s1", "000000000000", None),
        ("123456789012", "s2", "123456789012", None),
        ("SESSION", "s3", "210987654321", b"t"),
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "holds no credentials"),
        ("[AKID", "is not valid TOML"),
        ("[AKID]", "lacks its secret"),
        ("[AKID]\nsecret = 1", "table of texts"),
        ("AKID = 'x'", "table of texts"),
        ("[AKID]\nsecret = 'x'\npassword = 'y'", "unknown member password"),
        ("[AKID]\nsecret = 'x'\naccount = '12'", "not twelve digits"),
        ("['a/b']\nsecret = 'x'", "is not an access key id"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason(tmp_path, text, complaint):
    with pytest.raises(CredentialsFileError, match=complaint):
        load(tmp_path, text)


def test_a_missing_file_is_refused_with_the_reason(tmp_path):
    with pytest.raises(CredentialsFileError, match="No such file"):
        load_credentials(tmp_path / "none")


def test_an_entry_may_be_a_user_with_policies(tmp_path):
    document = '{"Version":"2012-10-17","Statement":{"Effect":"Deny","Action":"*","Resource":"*"}}'
    credentials = load(
        tmp_path,
        f"""
        [AKID]
        secret = "s"
        account = "210987654321"
        user = "ann"
        policies = ["AmazonDynamoDBReadOnlyAccess", "arn:aws:iam::aws:policy/IAMReadOnlyAccess"]
        policy = '{document}'
        """,
    )
    grants = credentials["AKID"].grants
    assert grants.principal.arn == "arn:aws:iam::210987654321:user/ann"
    assert [policy.name.rpartition("/")[2] for policy in grants.identity] == [
        "AmazonDynamoDBReadOnlyAccess",
        "IAMReadOnlyAccess",
        "policy",
    ]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("user = 'a b'", "a name that IAM does not take"),
        ("policies = 'x'", "not a list of names"),
        ("policies = ['Nothing']", "which there is not"),
        ("policy = '{}'", "malformed policy: Syntax errors in policy."),
    ],
)
def test_policies_that_cannot_be_are_refused(tmp_path, lines, reason):
    with pytest.raises(CredentialsFileError, match=reason):
        load(tmp_path, f"[AKID]\nsecret = 's'\n{lines}")
