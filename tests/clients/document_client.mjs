// A session with the AWS SDK for JavaScript v3 and its document client, configured by the
// environment alone. Exits with an error at the first surprise.
import assert from "node:assert/strict";
import {
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import {
  BatchGetCommand,
  BatchWriteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  TransactWriteCommand,
  UpdateCommand,
  paginateQuery,
} from "@aws-sdk/lib-dynamodb";

const TableName = "JavaScriptThings";
const client = new DynamoDBClient({});
const documents = DynamoDBDocumentClient.from(client);

await client.send(
  new CreateTableCommand({
    TableName,
    KeySchema: [
      { AttributeName: "owner", KeyType: "HASH" },
      { AttributeName: "id", KeyType: "RANGE" },
    ],
    AttributeDefinitions: [
      { AttributeName: "owner", AttributeType: "S" },
      { AttributeName: "id", AttributeType: "N" },
    ],
    BillingMode: "PAY_PER_REQUEST",
  }),
);
await waitUntilTableExists({ client, minDelay: 1, maxWaitTime: 20 }, { TableName });

const thing = { owner: "o", id: 0, tags: new Set(["a", "b"]), nested: { list: [1, "two", null] } };
await documents.send(new PutCommand({ TableName, Item: thing }));
const got = await documents.send(new GetCommand({ TableName, Key: { owner: "o", id: 0 } }));
assert.deepEqual(got.Item, thing);

const puts = Array.from({ length: 20 }, (_, n) => ({
  PutRequest: { Item: { owner: "o", id: n + 1, bytes: Buffer.from([n, 255]) } },
}));
const wrote = await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: puts } }));
assert.deepEqual(wrote.UnprocessedItems, {});

const ids = [];
const pages = paginateQuery(
  { client: documents, pageSize: 6 },
  {
    TableName,
    KeyConditionExpression: "#o = :o AND id > :one",
    ExpressionAttributeNames: { "#o": "owner" },
    ExpressionAttributeValues: { ":o": "o", ":one": 1 },
    ScanIndexForward: false,
  },
);
for await (const page of pages) ids.push(...page.Items.map((item) => item.id));
assert.deepEqual(ids, Array.from({ length: 19 }, (_, n) => 20 - n));

const updated = await documents.send(
  new UpdateCommand({
    TableName,
    Key: { owner: "o", id: 0 },
    UpdateExpression: "SET nested.#l[1] = :v ADD tags :c",
    ExpressionAttributeNames: { "#l": "list" },
    ExpressionAttributeValues: { ":v": { deep: true }, ":c": new Set(["c"]) },
    ReturnValues: "ALL_NEW",
  }),
);
assert.deepEqual(updated.Attributes.nested.list[1], { deep: true });
assert.deepEqual(updated.Attributes.tags, new Set(["a", "b", "c"]));

const batch = await documents.send(
  new BatchGetCommand({
    RequestItems: { [TableName]: { Keys: [{ owner: "o", id: 3 }, { owner: "o", id: 99 }] } },
  }),
);
assert.equal(batch.Responses[TableName].length, 1);
assert.deepEqual([...batch.Responses[TableName][0].bytes], [2, 255]);

await assert.rejects(
  documents.send(
    new TransactWriteCommand({
      TransactItems: [
        { Put: { TableName, Item: { owner: "o", id: 100 } } },
        {
          ConditionCheck: {
            TableName,
            Key: { owner: "o", id: 1 },
            ConditionExpression: "attribute_not_exists(id)",
          },
        },
      ],
    }),
  ),
  (error) =>
    error.name === "TransactionCanceledException" &&
    error.CancellationReasons[1].Code === "ConditionalCheckFailed",
);
const absent = await documents.send(new GetCommand({ TableName, Key: { owner: "o", id: 100 } }));
assert.equal(absent.Item, undefined);
await client.send(new DeleteTableCommand({ TableName }));
