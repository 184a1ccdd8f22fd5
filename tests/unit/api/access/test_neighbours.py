"""Every operation of every neighbour is refused to a principal without policies."""

import pytest

from hashrange.api.access.authoriser import PolicyAuthoriser
from hashrange.api.access.identity_rows import FREE
from hashrange.api.scope import IN_PROCESS, Caller, RequestScope
from hashrange.errors import AccessDeniedException
from hashrange.policies.evaluation import Grants
from hashrange.policies.principals import Principal
from tests.harness.all_neighbours import all_services
from tests.harness.guarded import ACCOUNT, REGION, USER, allow, policy
from tests.harness.identities import identity_store

SERVICES = all_services()
OPERATIONS = [(service.name, name) for service in SERVICES for name in service.handlers()]
# It weighs policies itself, together with the role's trust policy.
WEIGHING = {("sts", "AssumeRole")}
# Actions of S3 that do not have the name of their operation.
S3_ACTIONS = {
    ("s3", operation): action
    for action, operations in {
        "*Object": ["CopyObject"],
        "DeleteObject": ["DeleteObjects"],
        "GetObject": ["HeadObject"],
        "ListAllMyBuckets": ["ListBuckets"],
        "ListBucket": ["HeadBucket", "ListObjects", "ListObjectsV2"],
        "ListBucketMultipartUploads": ["ListMultipartUploads"],
        "ListMultipartUploadParts": ["ListParts"],
        "PutObject": ["CompleteMultipartUpload", "CreateMultipartUpload", "UploadPart"],
    }.items()
    for operation in operations
}


class Parameters(dict):
    """Parameters of which every required one is there."""

    def __missing__(self, name):
        return {"Objects": [{"Key": "some-text"}]} if name == "Delete" else "some-text"


def authorise(service, operation, *statements):
    scope = RequestScope(b"", IN_PROCESS, b"")
    grants = Grants(Principal(USER, ACCOUNT), [policy(*statements)] if statements else [])
    scope.caller = Caller("AKIA", ACCOUNT, USER, REGION, service, grants)
    scope.service, scope.operation = service, operation
    return PolicyAuthoriser(identity_store()).authorise(scope, Parameters())


@pytest.mark.parametrize(
    ("service", "operation"), [pair for pair in OPERATIONS if pair not in FREE | WEIGHING]
)
def test_a_principal_without_policies_is_refused(service, operation):
    with pytest.raises(AccessDeniedException, match="because no identity-based policy allows the"):
        authorise(service, operation)
    with pytest.raises(AccessDeniedException):
        authorise(service, operation, allow("dynamodb:*"))
    action = S3_ACTIONS.get((service, operation), operation)
    assert authorise(service, operation, allow(f"{service}:{action}")) is None


def test_an_operation_nobody_wrote_a_row_for_needs_its_name_on_everything():
    with pytest.raises(AccessDeniedException, match=r"kms:Invent on resource: \* because"):
        authorise("kms", "Invent", allow("kms:Invent", "arn:aws:kms:*:*:key/1"))
    assert authorise("kms", "Invent", allow("kms:Invent")) is None


def test_alarms_and_topics_are_resources():
    alarm = f"arn:aws:cloudwatch:{REGION}:{ACCOUNT}:alarm:some-text"
    with pytest.raises(AccessDeniedException, match="cloudwatch:PutDashboard on resource: arn:"):
        authorise("cloudwatch", "PutDashboard", allow("cloudwatch:PutDashboard", alarm))
    topic = f"arn:aws:sns:{REGION}:{ACCOUNT}:some-text"
    assert authorise("sns", "CreateTopic", allow("sns:CreateTopic", topic)) is None
    with pytest.raises(AccessDeniedException):
        authorise("sns", "CreateTopic", allow("sns:CreateTopic", f"{topic}-other"))
