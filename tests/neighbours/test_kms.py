"""KMS as boto3 sees it: keys, aliases, states, what keys encrypt, grants, policies, rotation."""

import boto3
import pytest
from botocore.exceptions import ClientError

ARN = "arn:aws:kms:eu-west-1:000000000000:"


@pytest.fixture
def kms(client):
    return client("kms")


@pytest.fixture
def key(kms):
    return kms.create_key(Description="a key", Tags=[{"TagKey": "a", "TagValue": "b"}])[
        "KeyMetadata"
    ]


def code(call, **parameters):
    with pytest.raises(ClientError) as caught:
        call(**parameters)
    return caught.value.response["Error"]["Code"]


def test_a_key_is_made_described_and_listed(kms, key):
    assert key["Arn"] == f"{ARN}key/{key['KeyId']}"
    assert (key["KeyState"], key["Enabled"], key["KeyManager"]) == ("Enabled", True, "CUSTOMER")
    assert key["KeySpec"] == "SYMMETRIC_DEFAULT"
    for name in (key["KeyId"], key["Arn"]):
        assert kms.describe_key(KeyId=name)["KeyMetadata"] == key
    pages = kms.get_paginator("list_keys").paginate(PaginationConfig={"PageSize": 1})
    listed = [entry["KeyId"] for page in pages for entry in page["Keys"]]
    assert key["KeyId"] in listed
    assert len(set(listed)) == len(listed)
    kms.update_key_description(KeyId=key["KeyId"], Description="another")
    assert kms.describe_key(KeyId=key["KeyId"])["KeyMetadata"]["Description"] == "another"
    assert code(kms.describe_key, KeyId="5e3f4f6c-0000-4000-8000-000000000000") == (
        "NotFoundException"
    )
    assert code(kms.describe_key, KeyId="arn:aws:s3:::bucket") == "InvalidArnException"


@pytest.mark.parametrize(
    "parameters", [{"KeySpec": "RSA_2048"}, {"KeyUsage": "SIGN_VERIFY"}, {"MultiRegion": True}]
)
def test_keys_that_are_not_symmetric_are_refused(kms, parameters):
    assert code(kms.create_key, **parameters) == "UnsupportedOperationException"


def test_tags_of_keys(kms, key):
    id = key["KeyId"]
    kms.tag_resource(KeyId=id, Tags=[{"TagKey": "c", "TagValue": "d"}])
    kms.untag_resource(KeyId=id, TagKeys=["a"])
    assert kms.list_resource_tags(KeyId=id)["Tags"] == [{"TagKey": "c", "TagValue": "d"}]


def test_what_a_key_encrypts_opens_with_its_context_only(kms, key):
    context = {"table": "orders", "a": "1"}
    sealed = kms.encrypt(KeyId=key["KeyId"], Plaintext=b"a secret", EncryptionContext=context)
    blob = sealed["CiphertextBlob"]
    assert sealed["KeyId"] == key["Arn"]
    assert b"secret" not in blob
    opened = kms.decrypt(CiphertextBlob=blob, EncryptionContext=dict(reversed(context.items())))
    assert (opened["Plaintext"], opened["KeyId"]) == (b"a secret", key["Arn"])
    other = kms.create_key()["KeyMetadata"]["KeyId"]
    assert code(kms.decrypt, CiphertextBlob=blob) == "InvalidCiphertextException"
    assert code(kms.decrypt, CiphertextBlob=b"rubbish") == "InvalidCiphertextException"
    wrong = {"CiphertextBlob": blob, "EncryptionContext": context, "KeyId": other}
    assert code(kms.decrypt, **wrong) == "IncorrectKeyException"
    changed = blob[:-1] + bytes([blob[-1] ^ 1])
    assert code(kms.decrypt, CiphertextBlob=changed, EncryptionContext=context) == (
        "InvalidCiphertextException"
    )


def test_data_keys_come_in_the_clear_and_sealed(kms, key):
    made = kms.generate_data_key(KeyId=key["KeyId"], KeySpec="AES_256")
    assert len(made["Plaintext"]) == 32
    assert kms.decrypt(CiphertextBlob=made["CiphertextBlob"])["Plaintext"] == made["Plaintext"]
    sealed = kms.generate_data_key_without_plaintext(KeyId=key["KeyId"], NumberOfBytes=24)
    assert "Plaintext" not in sealed
    assert len(kms.decrypt(CiphertextBlob=sealed["CiphertextBlob"])["Plaintext"]) == 24
    assert len(kms.generate_random(NumberOfBytes=17)["Plaintext"]) == 17
    assert code(kms.generate_data_key, KeyId=key["KeyId"]) == "ValidationException"
    dry = {"KeyId": key["KeyId"], "KeySpec": "AES_128", "DryRun": True}
    assert code(kms.generate_data_key, **dry) == "DryRunOperationException"


def test_a_ciphertext_moves_to_another_key(kms, key):
    other = kms.create_key()["KeyMetadata"]
    blob = kms.encrypt(KeyId=key["KeyId"], Plaintext=b"text")["CiphertextBlob"]
    moved = kms.re_encrypt(CiphertextBlob=blob, DestinationKeyId=other["KeyId"])
    assert (moved["SourceKeyId"], moved["KeyId"]) == (key["Arn"], other["Arn"])
    opened = kms.decrypt(CiphertextBlob=moved["CiphertextBlob"])
    assert (opened["Plaintext"], opened["KeyId"]) == (b"text", other["Arn"])


def test_aliases_name_keys(kms, key):
    name = f"alias/a-{key['KeyId']}"
    kms.create_alias(AliasName=name, TargetKeyId=key["KeyId"])
    for given in (name, f"{ARN}{name}"):
        assert kms.describe_key(KeyId=given)["KeyMetadata"]["KeyId"] == key["KeyId"]
    again = {"AliasName": name, "TargetKeyId": key["KeyId"]}
    assert code(kms.create_alias, **again) == "AlreadyExistsException"
    other = kms.create_key()["KeyMetadata"]["KeyId"]
    kms.update_alias(AliasName=name, TargetKeyId=other)
    (listed,) = kms.list_aliases(KeyId=other)["Aliases"]
    assert (listed["AliasName"], listed["TargetKeyId"]) == (name, other)
    kms.delete_alias(AliasName=name)
    assert code(kms.describe_key, KeyId=name) == "NotFoundException"
    assert code(kms.delete_alias, AliasName=name) == "NotFoundException"
    for wrong, error in (
        ("nothing", "ValidationException"),
        ("alias/aws/dynamodb", "NotAuthorizedException"),
        ("alias/a b", "InvalidAliasNameException"),
    ):
        assert code(kms.create_alias, AliasName=wrong, TargetKeyId=other) == error


def test_states_of_a_key_and_what_they_refuse(kms, key):
    id = key["KeyId"]
    blob = kms.encrypt(KeyId=id, Plaintext=b"text")["CiphertextBlob"]
    kms.disable_key(KeyId=id)
    assert kms.describe_key(KeyId=id)["KeyMetadata"]["KeyState"] == "Disabled"
    assert code(kms.encrypt, KeyId=id, Plaintext=b"text") == "DisabledException"
    assert code(kms.decrypt, CiphertextBlob=blob) == "DisabledException"
    kms.enable_key(KeyId=id)
    assert kms.decrypt(CiphertextBlob=blob)["Plaintext"] == b"text"
    scheduled = kms.schedule_key_deletion(KeyId=id, PendingWindowInDays=7)
    assert scheduled["KeyState"] == "PendingDeletion"
    described = kms.describe_key(KeyId=id)["KeyMetadata"]
    assert described["DeletionDate"] == scheduled["DeletionDate"]
    assert code(kms.decrypt, CiphertextBlob=blob) == "KMSInvalidStateException"
    assert code(kms.enable_key, KeyId=id) == "KMSInvalidStateException"
    kms.cancel_key_deletion(KeyId=id)
    assert kms.describe_key(KeyId=id)["KeyMetadata"]["KeyState"] == "Disabled"
    assert code(kms.cancel_key_deletion, KeyId=id) == "KMSInvalidStateException"
    assert code(kms.schedule_key_deletion, KeyId=id, PendingWindowInDays=6) == (
        "ValidationException"
    )


def test_rotation_adds_material_and_old_ciphertexts_still_open(kms, key):
    id = key["KeyId"]
    blob = kms.encrypt(KeyId=id, Plaintext=b"old")["CiphertextBlob"]
    assert kms.get_key_rotation_status(KeyId=id)["KeyRotationEnabled"] is False
    kms.enable_key_rotation(KeyId=id, RotationPeriodInDays=90)
    status = kms.get_key_rotation_status(KeyId=id)
    assert (status["KeyRotationEnabled"], status["RotationPeriodInDays"]) == (True, 90)
    assert status["NextRotationDate"] > key["CreationDate"]
    kms.rotate_key_on_demand(KeyId=id)
    (rotation,) = kms.list_key_rotations(KeyId=id)["Rotations"]
    assert rotation["RotationType"] == "ON_DEMAND"
    new = kms.encrypt(KeyId=id, Plaintext=b"new")["CiphertextBlob"]
    assert new[17:19] != blob[17:19]
    for text, sealed in ((b"old", blob), (b"new", new)):
        assert kms.decrypt(CiphertextBlob=sealed)["Plaintext"] == text
    kms.disable_key_rotation(KeyId=id)
    assert kms.get_key_rotation_status(KeyId=id)["KeyRotationEnabled"] is False


def test_policies_and_grants_are_kept(kms, key):
    id = key["KeyId"]
    assert kms.list_key_policies(KeyId=id)["PolicyNames"] == ["default"]
    assert "kms:*" in kms.get_key_policy(KeyId=id, PolicyName="default")["Policy"]
    assert code(kms.put_key_policy, KeyId=id, Policy="{}") == "MalformedPolicyDocumentException"
    user = "arn:aws:iam::000000000000:user/ann"
    granted = {"KeyId": id, "GranteePrincipal": user, "Operations": ["Decrypt"], "Name": "one"}
    made = kms.create_grant(**granted, RetiringPrincipal=user)
    again = kms.create_grant(**granted, RetiringPrincipal=user)
    assert (again["GrantId"], again["GrantToken"]) == (made["GrantId"], made["GrantToken"])
    (listed,) = kms.list_grants(KeyId=id)["Grants"]
    assert (listed["GrantId"], listed["GranteePrincipal"]) == (made["GrantId"], user)
    (retirable,) = kms.list_retirable_grants(RetiringPrincipal=user)["Grants"]
    assert retirable["GrantId"] == made["GrantId"]
    kms.retire_grant(GrantToken=made["GrantToken"])
    assert kms.list_grants(KeyId=id)["Grants"] == []
    assert code(kms.revoke_grant, KeyId=id, GrantId=made["GrantId"]) == "InvalidGrantIdException"


def test_accounts_and_regions_have_keys_of_their_own(client, url, key):
    elsewhere = boto3.client(
        "kms",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="secret",
    )
    other = client("kms", access_key="111111111111")
    for stranger in (elsewhere, other):
        assert code(stranger.describe_key, KeyId=key["KeyId"]) == "NotFoundException"
