"""boto3 manages users, groups, roles, keys and policies, and the server obeys them."""

import json
import os
import subprocess
import sys
import time

import pytest
from botocore.exceptions import ClientError

from tests.harness.guarded_server import guarded_server
from tests.harness.presence import there

ACCOUNT = "000000000000"
TABLE = f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/music"
KEY = {"id": {"S": "a"}}
READ_ONLY = "arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess"


def document(*statements):
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allow(action, resource="*", **members):
    return {"Effect": "Allow", "Action": action, "Resource": resource, **members}


def trust(principal, **members):
    statement = {"Effect": "Allow", "Principal": {"AWS": principal}, "Action": "sts:AssumeRole"}
    return document({**statement, **members})


def refusal(call, **parameters):
    with pytest.raises(ClientError) as caught:
        call(**parameters)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with guarded_server(tmp_path_factory.mktemp("guarded"), "--auth", "--workers", "2") as started:
        dynamodb = started.client("dynamodb")
        dynamodb.create_table(
            TableName="music",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        )
        dynamodb.put_item(TableName="music", Item=KEY)
        yield started


@pytest.fixture
def iam(server):
    return server.client("iam")


def new_user(iam, name, *statements):
    iam.create_user(UserName=name)
    if statements:
        iam.put_user_policy(UserName=name, PolicyName="own", PolicyDocument=document(*statements))
    return iam.create_access_key(UserName=name)["AccessKey"]


def poll(check, seconds=1.0):
    """Return the first true outcome of a check within some seconds, else its last outcome."""
    deadline = time.monotonic() + seconds
    while True:
        outcome = check()
        if outcome or time.monotonic() > deadline:
            return outcome
        time.sleep(0.02)


def test_users_come_and_go(iam):
    made = iam.create_user(UserName="Una", Path="/people/", Tags=[{"Key": "t", "Value": "1"}])
    assert made["User"]["Arn"] == f"arn:aws:iam::{ACCOUNT}:user/people/Una"
    assert made["User"]["UserId"].startswith("AIDA")
    assert refusal(iam.create_user, UserName="una")[0] == "EntityAlreadyExists"
    assert refusal(iam.get_user, UserName="una")[0] == "NoSuchEntity"
    assert iam.get_user(UserName="Una")["User"]["Tags"] == [{"Key": "t", "Value": "1"}]
    assert "Una" in [user["UserName"] for user in iam.list_users(PathPrefix="/people/")["Users"]]
    iam.tag_user(UserName="Una", Tags=[{"Key": "u", "Value": "2"}])
    iam.untag_user(UserName="Una", TagKeys=["t"])
    assert iam.list_user_tags(UserName="Una")["Tags"] == [{"Key": "u", "Value": "2"}]
    iam.update_user(UserName="Una", NewUserName="Ida")
    assert refusal(iam.get_user, UserName="Una") == (
        "NoSuchEntity",
        "The user with name Una cannot be found.",
    )
    iam.delete_user(UserName="Ida")
    assert refusal(iam.delete_user, UserName="Ida")[0] == "NoSuchEntity"


def test_what_is_in_use_is_not_deleted(iam):
    new_user(iam, "busy", allow("dynamodb:*"))
    assert refusal(iam.delete_user, UserName="busy") == (
        "DeleteConflict",
        "Cannot delete entity, must delete access keys first.",
    )
    for key in iam.list_access_keys(UserName="busy")["AccessKeyMetadata"]:
        iam.delete_access_key(UserName="busy", AccessKeyId=key["AccessKeyId"])
    assert "must delete policies" in refusal(iam.delete_user, UserName="busy")[1]
    iam.delete_user_policy(UserName="busy", PolicyName="own")
    iam.attach_user_policy(UserName="busy", PolicyArn=READ_ONLY)
    assert "must detach all policies" in refusal(iam.delete_user, UserName="busy")[1]
    iam.detach_user_policy(UserName="busy", PolicyArn=READ_ONLY)
    iam.delete_user(UserName="busy")


def test_a_user_has_two_keys_at_most(iam):
    new_user(iam, "keyed")
    iam.create_access_key(UserName="keyed")
    assert refusal(iam.create_access_key, UserName="keyed") == (
        "LimitExceeded",
        "Cannot exceed quota for AccessKeysPerUser: 2",
    )


def test_a_user_without_policies_is_refused_in_the_words_of_aws(server, iam):
    keys = new_user(iam, "nobody")
    assert refusal(server.client("dynamodb", keys).get_item, TableName="music", Key=KEY) == (
        "AccessDeniedException",
        f"User: arn:aws:iam::{ACCOUNT}:user/nobody is not authorized to perform: "
        f"dynamodb:GetItem on resource: {TABLE} because no identity-based policy allows the "
        "dynamodb:GetItem action",
    )
    assert refusal(server.client("iam", keys).list_users)[0] == "AccessDenied"
    assert refusal(server.client("cloudwatch", keys).list_metrics)[0] in (
        "AccessDenied",
        "AccessDeniedException",
    )
    identity = server.client("sts", keys).get_caller_identity()
    assert identity["Arn"] == f"arn:aws:iam::{ACCOUNT}:user/nobody"
    assert identity["UserId"].startswith("AIDA")


def test_changes_take_effect_in_all_workers_within_a_second(server, iam):
    keys = new_user(iam, "changing", allow("dynamodb:GetItem", TABLE))
    # Connections of their own, so that both workers are asked.
    clients = [server.client("dynamodb", keys) for _ in range(6)]

    def outcomes():
        found = set()
        for client in clients:
            try:
                client.get_item(TableName="music", Key=KEY)
                found.add("allowed")
            except ClientError as error:
                found.add(error.response["Error"]["Code"])
        return found

    assert poll(lambda: outcomes() == {"allowed"})
    iam.delete_user_policy(UserName="changing", PolicyName="own")
    assert poll(lambda: outcomes() == {"AccessDeniedException"})
    iam.attach_user_policy(UserName="changing", PolicyArn=READ_ONLY)
    assert poll(lambda: outcomes() == {"allowed"})
    iam.update_access_key(UserName="changing", AccessKeyId=keys["AccessKeyId"], Status="Inactive")
    assert poll(lambda: outcomes() == {"UnrecognizedClientException"})


def test_a_deny_for_a_path_cannot_be_got_around_by_leaving_the_path_out(server, iam):
    guarded = f"arn:aws:iam::{ACCOUNT}:user/chiefs/*"
    keys = new_user(iam, "deputy", allow("iam:*"), {**allow("iam:*", guarded), "Effect": "Deny"})
    iam.create_user(UserName="chief", Path="/chiefs/")
    deputy = server.client("iam", keys)
    assert refusal(deputy.delete_user, UserName="chief")[0] == "AccessDenied"
    assert refusal(deputy.delete_user, UserName="CHIEF")[0] == "NoSuchEntity"
    assert deputy.get_user(UserName="deputy")


def test_policies_of_a_group_count(server, iam):
    keys = new_user(iam, "member")
    iam.create_group(GroupName="readers")
    iam.attach_group_policy(GroupName="readers", PolicyArn=READ_ONLY)
    iam.add_user_to_group(GroupName="readers", UserName="member")
    dynamodb = server.client("dynamodb", keys)
    assert poll(lambda: "Item" in dynamodb.get_item(TableName="music", Key=KEY))
    assert refusal(dynamodb.delete_item, TableName="music", Key=KEY)[0] == "AccessDeniedException"
    assert [user["UserName"] for user in iam.get_group(GroupName="readers")["Users"]] == ["member"]
    groups = iam.list_groups_for_user(UserName="member")["Groups"]
    assert [group["GroupName"] for group in groups] == ["readers"]
    assert "remove users" in refusal(iam.delete_group, GroupName="readers")[1]
    iam.remove_user_from_group(GroupName="readers", UserName="member")
    iam.detach_group_policy(GroupName="readers", PolicyArn=READ_ONLY)
    iam.delete_group(GroupName="readers")


def test_managed_policies_have_versions(iam):
    first = document(allow("dynamodb:GetItem"))
    arn = iam.create_policy(PolicyName="versioned", PolicyDocument=first)["Policy"]["Arn"]
    assert refusal(iam.create_policy, PolicyName="versioned", PolicyDocument=first)[0] == (
        "EntityAlreadyExists"
    )
    for number in range(2, 6):
        made = iam.create_policy_version(
            PolicyArn=arn, PolicyDocument=document(allow("dynamodb:*")), SetAsDefault=number == 3
        )
        assert made["PolicyVersion"]["VersionId"] == f"v{number}"
    assert refusal(iam.create_policy_version, PolicyArn=arn, PolicyDocument=first)[0] == (
        "LimitExceeded"
    )
    assert iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"] == "v3"
    version = iam.get_policy_version(PolicyArn=arn, VersionId="v1")["PolicyVersion"]
    assert version["Document"] == json.loads(first)
    assert refusal(iam.delete_policy_version, PolicyArn=arn, VersionId="v3")[0] == "DeleteConflict"
    iam.set_default_policy_version(PolicyArn=arn, VersionId="v1")
    assert refusal(iam.delete_policy, PolicyArn=arn)[0] == "DeleteConflict"
    for number in range(2, 6):
        iam.delete_policy_version(PolicyArn=arn, VersionId=f"v{number}")
    assert [v["VersionId"] for v in iam.list_policy_versions(PolicyArn=arn)["Versions"]] == ["v1"]
    local = iam.list_policies(Scope="Local")["Policies"]
    assert arn in [policy["Arn"] for policy in local]
    iam.delete_policy(PolicyArn=arn)
    assert refusal(iam.get_policy, PolicyArn=arn)[0] == "NoSuchEntity"


def test_a_malformed_policy_is_refused(iam):
    assert refusal(iam.create_policy, PolicyName="bad", PolicyDocument="{}") == (
        "MalformedPolicyDocument",
        "Syntax errors in policy.",
    )


def test_a_boundary_cuts_what_a_user_may_do(server, iam):
    keys = new_user(iam, "bounded", allow("dynamodb:*"))
    iam.put_user_permissions_boundary(UserName="bounded", PermissionsBoundary=READ_ONLY)
    dynamodb = server.client("dynamodb", keys)
    assert poll(lambda: "Item" in dynamodb.get_item(TableName="music", Key=KEY))
    message = refusal(dynamodb.delete_item, TableName="music", Key=KEY)[1]
    assert message.endswith("because no permissions boundary allows the dynamodb:DeleteItem action")
    iam.delete_user_permissions_boundary(UserName="bounded")


def test_a_role_is_assumed_with_a_session_policy_and_tags(server, iam):
    keys = new_user(iam, "actor", allow(["sts:AssumeRole", "sts:TagSession"]))
    iam.create_role(
        RoleName="Writer",
        AssumeRolePolicyDocument=trust(ACCOUNT).replace(
            '"sts:AssumeRole"', '["sts:AssumeRole", "sts:TagSession"]'
        ),
    )
    tagged = {"StringEquals": {"aws:PrincipalTag/team": "blue"}}
    iam.put_role_policy(
        RoleName="Writer",
        PolicyName="all",
        PolicyDocument=document(allow("dynamodb:*", TABLE, Condition=tagged)),
    )
    sts = server.client("sts", keys)
    role = f"arn:aws:iam::{ACCOUNT}:role/Writer"
    poll(lambda: iam.get_role(RoleName="Writer"))
    given = sts.assume_role(
        RoleArn=role,
        RoleSessionName="work",
        Tags=[{"Key": "team", "Value": "blue"}],
        Policy=document(allow("dynamodb:GetItem")),
    )
    assert given["AssumedRoleUser"]["Arn"] == f"arn:aws:sts::{ACCOUNT}:assumed-role/Writer/work"
    session = server.client("dynamodb", given["Credentials"])
    assert "Item" in session.get_item(TableName="music", Key=KEY)
    assert refusal(session.delete_item, TableName="music", Key=KEY)[1].endswith(
        "because no session policy allows the dynamodb:DeleteItem action"
    )
    untagged = sts.assume_role(RoleArn=role, RoleSessionName="work")["Credentials"]
    assert refusal(server.client("dynamodb", untagged).get_item, TableName="music", Key=KEY)[0] == (
        "AccessDeniedException"
    )
    stranger = server.client("sts", new_user(iam, "stranger"))
    assert refusal(stranger.assume_role, RoleArn=role, RoleSessionName="xx") == (
        "AccessDenied",
        f"User: arn:aws:iam::{ACCOUNT}:user/stranger is not authorized to perform: "
        f"sts:AssumeRole on resource: {role}",
    )


def test_a_trust_policy_may_want_an_external_id(server, iam):
    keys = new_user(iam, "partner")
    external = {"StringEquals": {"sts:ExternalId": "42"}}
    iam.create_role(
        RoleName="Shared",
        AssumeRolePolicyDocument=trust(f"arn:aws:iam::{ACCOUNT}:user/partner", Condition=external),
    )
    sts = server.client("sts", keys)
    request = {"RoleArn": f"arn:aws:iam::{ACCOUNT}:role/Shared", "RoleSessionName": "xx"}
    assert refusal(sts.assume_role, **request)[0] == "AccessDenied"
    assert sts.assume_role(**request, ExternalId="42")["Credentials"]


def test_tokens_cannot_be_forged_or_moved(server, iam):
    keys = new_user(iam, "tokened", allow("*"))
    sts = server.client("sts", keys)
    given = sts.get_session_token(DurationSeconds=900)["Credentials"]
    other = sts.get_session_token(DurationSeconds=900)["Credentials"]
    get = {"TableName": "music", "Key": KEY}
    assert "Item" in server.client("dynamodb", given).get_item(**get)
    identity = server.client("sts", given).get_caller_identity()
    assert identity["Arn"] == f"arn:aws:iam::{ACCOUNT}:user/tokened"
    token = given["SessionToken"]
    flipped = token[:40] + ("A" if token[40] != "A" else "B") + token[41:]
    for wrong in (
        {**given, "SessionToken": flipped},
        {**given, "SessionToken": other["SessionToken"]},
        {**given, "SessionToken": "x"},
        {**given, "SessionToken": None},
        {**given, "AccessKeyId": keys["AccessKeyId"]},
    ):
        code, _ = refusal(server.client("dynamodb", wrong).get_item, **get)
        assert code == "UnrecognizedClientException"
    wrong = {**given, "SecretAccessKey": other["SecretAccessKey"]}
    assert refusal(server.client("dynamodb", wrong).get_item, **get)[0] == (
        "InvalidSignatureException"
    )


def test_a_federated_user_may_do_what_both_policies_allow(server, iam):
    keys = new_user(iam, "broker", allow(["sts:GetFederationToken", "dynamodb:GetItem"]))
    sts = server.client("sts", keys)
    given = sts.get_federation_token(Name="guest", Policy=document(allow("dynamodb:*")))
    assert given["FederatedUser"]["Arn"] == f"arn:aws:sts::{ACCOUNT}:federated-user/guest"
    guest = server.client("dynamodb", given["Credentials"])
    assert "Item" in guest.get_item(TableName="music", Key=KEY)
    assert refusal(guest.scan, TableName="music")[0] == "AccessDeniedException"
    without = sts.get_federation_token(Name="guest")["Credentials"]
    assert refusal(server.client("dynamodb", without).get_item, TableName="music", Key=KEY)[0] == (
        "AccessDeniedException"
    )
    again = server.client("sts", given["Credentials"])
    assert refusal(again.get_session_token)[0] == "AccessDenied"


def test_simulations_answer_as_the_server_would(iam):
    new_user(iam, "simulated", allow("dynamodb:Get*", TABLE))
    results = iam.simulate_principal_policy(
        PolicySourceArn=f"arn:aws:iam::{ACCOUNT}:user/simulated",
        ActionNames=["dynamodb:GetItem", "dynamodb:PutItem"],
        ResourceArns=[TABLE],
    )["EvaluationResults"]
    assert [(r["EvalActionName"], r["EvalDecision"]) for r in results] == [
        ("dynamodb:GetItem", "allowed"),
        ("dynamodb:PutItem", "implicitDeny"),
    ]
    deny = {**allow("*"), "Effect": "Deny"}
    deny["Condition"] = {"StringEquals": {"aws:username": "eve"}}
    custom = {
        "PolicyInputList": [document(allow("dynamodb:*"), deny)],
        "ActionNames": ["dynamodb:GetItem"],
    }
    (result,) = iam.simulate_custom_policy(**custom)["EvaluationResults"]
    assert result["EvalDecision"] == "allowed"
    assert result["MissingContextValues"] == ["aws:username"]
    entry = {"ContextKeyName": "aws:username", "ContextKeyValues": ["eve"]}
    (result,) = iam.simulate_custom_policy(
        **custom, ContextEntries=[{**entry, "ContextKeyType": "string"}]
    )["EvaluationResults"]
    assert result["EvalDecision"] == "explicitDeny"


def test_the_command_line_manages_users(server):
    def aws(*arguments):
        environment = os.environ | {
            "AWS_ACCESS_KEY_ID": server.keys[0],
            "AWS_SECRET_ACCESS_KEY": server.keys[1],
            "AWS_DEFAULT_REGION": "eu-west-1",
            "AWS_ENDPOINT_URL": server.url,
        }
        command = [sys.executable, "-m", "awscli", *arguments, "--output", "json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout or "{}")

    assert aws("iam", "create-user", "--user-name", "clara")["User"]["UserName"] == "clara"
    aws("iam", "attach-user-policy", "--user-name", "clara", "--policy-arn", READ_ONLY)
    keys = aws("iam", "create-access-key", "--user-name", "clara")["AccessKey"]
    assert "Item" in server.client("dynamodb", keys).get_item(TableName="music", Key=KEY)
    assert "clara" in [user["UserName"] for user in aws("iam", "list-users")["Users"]]


def test_secrets_outlive_a_restart_and_are_not_in_the_data(tmp_path):
    with guarded_server(tmp_path) as server:
        keys = new_user(server.client("iam"), "ann", allow("*"))
        administrator = server.keys
    with guarded_server(tmp_path) as server:
        assert server.keys is None
        assert server.client("sts", keys).get_caller_identity()["Account"] == ACCOUNT
        assert server.client("iam", administrator).list_users()["Users"]
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    for path in files:
        content = path.read_bytes()
        assert keys["SecretAccessKey"].encode() not in content
        assert there(administrator)[1].encode() not in content
    assert (tmp_path / "data.key").stat().st_mode & 0o777 == 0o600
    (tmp_path / "data.key").rename(tmp_path / "lost")
    with pytest.raises(RuntimeError, match="not the key"), guarded_server(tmp_path):
        pass
