"""Event source mappings as SDK users manage them: boto3's Lambda client on the same port."""

import uuid

import pytest
from botocore.exceptions import ClientError

ONE = {"Filters": [{"Pattern": '{"eventName": ["INSERT"]}'}]}


@pytest.fixture(scope="module")
def functions(site):
    site.register("first", Kind="command", Target="true")
    site.register("second", Kind="command", Target="true")


@pytest.fixture
def stream(site, functions):
    return site.create_table(f"t-{uuid.uuid4()}")


def refusal(call, **request):
    with pytest.raises(ClientError) as caught:
        call(**request)
    response = caught.value.response
    status = response["ResponseMetadata"]["HTTPStatusCode"]
    return status, response["Error"]["Code"], response["Error"]["Message"]


def test_a_mapping_from_creation_to_deletion(site, stream):
    made = site.triggers.create_event_source_mapping(
        FunctionName="first", EventSourceArn=stream, StartingPosition="LATEST"
    )
    assert made["ResponseMetadata"]["HTTPStatusCode"] == 202
    assert made["State"] == "Creating"
    assert made["StateTransitionReason"] == "User action"
    assert made["LastProcessingResult"] == "No records processed"
    assert made["FunctionArn"] == "arn:aws:lambda:us-east-1:000000000000:function:first"
    assert made["EventSourceMappingArn"].endswith(f":event-source-mapping:{made['UUID']}")
    assert (made["BatchSize"], made["ParallelizationFactor"]) == (100, 1)
    assert (made["MaximumRetryAttempts"], made["MaximumRecordAgeInSeconds"]) == (-1, -1)
    assert made["DestinationConfig"] == {"OnFailure": {}}
    assert made["FunctionResponseTypes"] == []
    assert "FilterCriteria" not in made
    found = site.triggers.get_event_source_mapping(UUID=made["UUID"])
    assert found["State"] == "Enabled"
    assert found["LastModified"] == made["LastModified"]
    gone = site.triggers.delete_event_source_mapping(UUID=made["UUID"])
    assert gone["ResponseMetadata"]["HTTPStatusCode"] == 202
    assert gone["State"] == "Deleting"
    assert refusal(site.triggers.get_event_source_mapping, UUID=made["UUID"]) == (
        404,
        "ResourceNotFoundException",
        "The resource you requested does not exist.",
    )


def test_every_option_is_kept(site, stream):
    options = {
        "BatchSize": 7,
        "MaximumBatchingWindowInSeconds": 3,
        "ParallelizationFactor": 4,
        "MaximumRetryAttempts": 5,
        "MaximumRecordAgeInSeconds": 120,
        "BisectBatchOnFunctionError": True,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "DestinationConfig": {"OnFailure": {"Destination": "http://127.0.0.1:1/lost"}},
        "FilterCriteria": ONE,
        "StartingPosition": "TRIM_HORIZON",
        "KMSKeyArn": "arn:aws:kms:us-east-1:000000000000:key/x",
    }
    made = site.triggers.create_event_source_mapping(
        FunctionName="first", EventSourceArn=stream, Enabled=False, **options
    )
    found = site.triggers.get_event_source_mapping(UUID=made["UUID"])
    assert {name: found[name] for name in options} == options
    assert found["State"] == "Disabled"


def test_a_function_is_named_by_its_name_or_its_arn(site, functions):
    for given in (
        "first",
        "000000000000:function:first",
        "arn:aws:lambda:us-east-1:000000000000:function:first",
        "arn:aws:lambda:us-east-1:000000000000:function:first:$LATEST",
    ):
        made = site.triggers.create_event_source_mapping(
            FunctionName=given,
            EventSourceArn=site.create_table(f"t-{uuid.uuid4()}"),
            StartingPosition="LATEST",
        )
        assert made["FunctionArn"] == "arn:aws:lambda:us-east-1:000000000000:function:first"


def test_an_update_changes_what_it_names(site, stream):
    made = site.triggers.create_event_source_mapping(
        FunctionName="first",
        EventSourceArn=stream,
        StartingPosition="LATEST",
        FilterCriteria=ONE,
        MaximumRetryAttempts=3,
    )
    update = site.triggers.update_event_source_mapping
    changed = update(UUID=made["UUID"], BatchSize=9, FunctionName="second")
    assert changed["State"] == "Updating"
    assert changed["FunctionArn"].endswith(":second")
    assert (changed["BatchSize"], changed["MaximumRetryAttempts"]) == (9, 3)
    assert changed["FilterCriteria"] == ONE
    assert update(UUID=made["UUID"], Enabled=False)["State"] == "Disabling"
    assert site.triggers.get_event_source_mapping(UUID=made["UUID"])["State"] == "Disabled"
    assert update(UUID=made["UUID"], Enabled=True)["State"] == "Enabling"
    assert "FilterCriteria" not in update(UUID=made["UUID"], FilterCriteria={})


def test_a_stream_and_a_function_have_one_mapping(site, stream):
    create = site.triggers.create_event_source_mapping
    request = {"EventSourceArn": stream, "StartingPosition": "LATEST"}
    made = create(FunctionName="first", **request)
    status, code, text = refusal(create, FunctionName="first", **request)
    assert (status, code) == (409, "ResourceConflictException")
    assert made["UUID"] in text
    other = create(FunctionName="second", **request)
    update = site.triggers.update_event_source_mapping
    assert refusal(update, UUID=other["UUID"], FunctionName="first")[0] == 409
    # What an update or a deletion frees can be taken again.
    site.triggers.delete_event_source_mapping(UUID=made["UUID"])
    update(UUID=other["UUID"], FunctionName="first")
    create(FunctionName="second", **request)


def test_mappings_are_listed_by_stream_and_function_and_page_by_page(site, stream):
    create = site.triggers.create_event_source_mapping
    for name in ("first", "second"):
        create(FunctionName=name, EventSourceArn=stream, StartingPosition="LATEST")
    listing = site.triggers.list_event_source_mappings
    found = listing(EventSourceArn=stream)["EventSourceMappings"]
    assert {each["FunctionArn"].rpartition(":")[2] for each in found} == {"first", "second"}
    (only,) = listing(EventSourceArn=stream, FunctionName="second")["EventSourceMappings"]
    assert only["FunctionArn"].endswith("second")
    pages = site.triggers.get_paginator("list_event_source_mappings").paginate(
        EventSourceArn=stream, PaginationConfig={"PageSize": 1}
    )
    assert [len(page["EventSourceMappings"]) for page in pages] == [1, 1]
    assert listing(FunctionName="unknown")["EventSourceMappings"] == []


VALID = {"FunctionName": "first", "StartingPosition": "LATEST"}
REFUSED = {
    "unknown function": ({"FunctionName": "nobody"}, "Function does not exist"),
    "no position": (
        {"StartingPosition": None},
        "1 validation error detected: Value null at 'startingPosition' failed to satisfy "
        "constraint: Member must not be null.",
    ),
    "position of Kinesis": (
        {"StartingPosition": "AT_TIMESTAMP"},
        "Unsupported starting position for arn type: STREAM",
    ),
    "pattern": (
        {"FilterCriteria": {"Filters": [{"Pattern": '{"a": "b"}'}]}},
        "Invalid filter pattern definition.",
    ),
    "no pattern": ({"FilterCriteria": {"Filters": [{}]}}, "Invalid filter pattern definition."),
    "queue": (
        {"EventSourceArn": "arn:aws:sqs:us-east-1:000000000000:queue"},
        "Unrecognized event source.",
    ),
    "windows": (
        {"TumblingWindowInSeconds": 30},
        "This server has no tumbling windows: leave TumblingWindowInSeconds out, or 0.",
    ),
    "age": (
        {"MaximumRecordAgeInSeconds": 10},
        "MaximumRecordAgeInSeconds is -1, or from 60 to 604800.",
    ),
    "Kafka": ({"Topics": ["x"]}, "Topics is not for DynamoDB streams."),
}


@pytest.mark.parametrize(("change", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused(site, stream, change, text):
    request = {"EventSourceArn": stream, **VALID, **change}
    request = {name: value for name, value in request.items() if value is not None}
    status, code, message = refusal(site.triggers.create_event_source_mapping, **request)
    assert (status, code) == (400, "InvalidParameterValueException")
    assert message == text.replace("STREAM", stream)


def test_a_stream_that_is_not_there_is_refused(site, stream):
    absent = stream.replace(":table/t-", ":table/u-")
    status, code, text = refusal(
        site.triggers.create_event_source_mapping, EventSourceArn=absent, **VALID
    )
    assert (status, code, text) == (
        400,
        "InvalidParameterValueException",
        f"Stream not found: {absent}",
    )


def test_destinations_of_the_cloud_are_refused(site, stream):
    queue = {"OnFailure": {"Destination": "arn:aws:sqs:us-east-1:000000000000:lost"}}
    status, code, _ = refusal(
        site.triggers.create_event_source_mapping,
        EventSourceArn=stream,
        DestinationConfig=queue,
        **VALID,
    )
    assert (status, code) == (400, "InvalidParameterValueException")


@pytest.mark.parametrize(
    ("option", "value", "bound"),
    [
        ("BatchSize", 10_001, "less than or equal to 10000"),
        ("BatchSize", 0, "greater than or equal to 1"),
        ("ParallelizationFactor", 11, "less than or equal to 10"),
        ("MaximumBatchingWindowInSeconds", 301, "less than or equal to 300"),
        ("MaximumRetryAttempts", 10_001, "less than or equal to 10000"),
    ],
)
def test_options_have_bounds(site, stream, option, value, bound):
    body = {"EventSourceArn": stream, **VALID, option: value}
    status, headers, document = site.request("POST", "/2015-03-31/event-source-mappings/", body)
    assert (status, headers["x-amzn-ErrorType"]) == (400, "ValidationException")
    name = option[0].lower() + option[1:]
    assert document["message"] == (
        f"1 validation error detected: Value '{value}' at '{name}' failed to satisfy constraint: "
        f"Member must have value {bound}"
    )


def test_unknown_ids_are_not_found(site):
    absent = str(uuid.uuid4())
    for call in (
        site.triggers.get_event_source_mapping,
        site.triggers.update_event_source_mapping,
        site.triggers.delete_event_source_mapping,
    ):
        assert refusal(call, UUID=absent)[:2] == (404, "ResourceNotFoundException")


def test_functions_are_registered_described_and_forgotten(site):
    made = site.register(
        "own", Kind="python", Target="a.b:c", Environment={"SECRET": "x"}, TimeoutSeconds=5
    )
    assert made["Arn"] == "arn:aws:lambda:us-east-1:000000000000:function:own"
    status, _, found = site.request("GET", "/_hashrange/functions/own")
    assert status == 200
    assert found["Environment"] == ["SECRET"]
    assert (found["Kind"], found["Target"], found["TimeoutSeconds"]) == ("python", "a.b:c", 5)
    _, _, listed = site.request("GET", "/_hashrange/functions")
    assert "own" in [function["Name"] for function in listed["Functions"]]
    assert site.request("DELETE", "/_hashrange/functions/own")[0] == 200
    status, headers, _ = site.request("GET", "/_hashrange/functions/own")
    assert (status, headers["x-amzn-ErrorType"]) == (404, "ResourceNotFoundException")


@pytest.mark.parametrize(
    "members",
    [
        {"Kind": "python", "Target": "no-function"},
        {"Kind": "http", "Target": "ftp://x"},
        {"Kind": "command", "Target": '"unbalanced'},
        {"Kind": "command", "Target": "  "},
        {"Kind": "shell", "Target": "x"},
        {"Kind": "python"},
        {"Kind": "python", "Target": "a:b", "TimeoutSeconds": 901},
    ],
)
def test_functions_that_cannot_be_are_refused(site, members):
    assert site.request("PUT", "/_hashrange/functions/wrong", members)[0] == 400


def test_a_page_in_a_browser_can_do_nothing(site):
    body = {"Kind": "command", "Target": "true"}
    for method in ("GET", "PUT", "POST", "DELETE", "OPTIONS"):
        for path in ("/_hashrange/functions/evil", "/2015-03-31/event-source-mappings"):
            status, headers, _ = site.request(method, path, body, Origin="http://evil.example")
            assert status == 403
            assert "Access-Control-Allow-Methods" not in headers


def test_requests_have_to_be_signed(site):
    status, headers, _ = site.request("GET", "/_hashrange/functions", Authorization=None)
    assert (status, headers["x-amzn-ErrorType"]) == (403, "MissingAuthenticationTokenException")


def test_other_paths_are_unknown(site):
    for path in ("/2015-03-31/functions", "/_hashrange/nothing", "/2015-03-31/"):
        status, headers, _ = site.request("GET", path)
        assert (status, headers["x-amzn-ErrorType"]) == (404, "UnknownOperationException")
    status, headers, _ = site.request("PUT", "/_hashrange/functions/x", ["no object"])
    assert (status, headers["x-amzn-ErrorType"]) == (400, "SerializationException")


def test_regions_know_nothing_of_each_other(site, stream):
    made = site.triggers.create_event_source_mapping(EventSourceArn=stream, **VALID)
    elsewhere = {
        "Authorization": "AWS4-HMAC-SHA256 Credential=local/20260101/eu-west-1/lambda/"
        "aws4_request, SignedHeaders=host;x-amz-date, Signature=00"
    }
    path = f"/2015-03-31/event-source-mappings/{made['UUID']}"
    assert site.request("GET", path, **elsewhere)[0] == 404
    assert site.request("GET", path)[0] == 200
