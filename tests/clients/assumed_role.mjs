// The AWS SDK for JavaScript v3 with credentials of a role, configured by the environment.
// Exits with an error at the first surprise.
import assert from "node:assert/strict";
import { DeleteItemCommand, DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { fromTemporaryCredentials } from "@aws-sdk/credential-providers";

const credentials = fromTemporaryCredentials({
  params: { RoleArn: process.env.ROLE_ARN, RoleSessionName: "javascript" },
  clientConfig: { region: "us-east-1" },
});
const identity = await new STSClient({ credentials }).send(new GetCallerIdentityCommand({}));
assert.match(identity.Arn, /:assumed-role\/Reader\/javascript$/);

const dynamodb = new DynamoDBClient({ credentials });
const request = { TableName: "music", Key: { id: { S: "a" } } };
const found = await dynamodb.send(new GetItemCommand(request));
assert.equal(found.Item.id.S, "a");
await assert.rejects(dynamodb.send(new DeleteItemCommand(request)), {
  name: "AccessDeniedException",
});
