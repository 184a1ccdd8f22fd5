// packages: dynamodb-admin@5 @aws-sdk/client-dynamodb@3
// The pages of dynamodb-admin: make a table, put an item, look at it, delete both.
import assert from "node:assert/strict";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createServer } from "dynamodb-admin";

const server = createServer({ dynamoDbClient: new DynamoDBClient({}) }).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;
async function page(path, options = {}) {
  const answer = await fetch(origin + path, options);
  const text = await answer.text();
  assert.ok(answer.ok, `${path}: ${answer.status} ${text}`);
  return text;
}
const send = (method, body) => ({ method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

await page(
  "/create-table",
  send("POST", {
    TableDefinition: {
      TableName: "AdminMusic",
      HashAttributeName: "artist",
      HashAttributeType: "S",
      ReadCapacityUnits: 3,
      WriteCapacityUnits: 3,
    },
    SecondaryIndexes: [],
  }),
);
assert.match(await page("/"), /AdminMusic/);
await page("/tables/AdminMusic/add-item", send("PUT", { artist: "Nina Simone", year: 1965 }));
assert.match(await page("/tables/AdminMusic"), /AdminMusic/);
const items = JSON.parse(await page("/tables/AdminMusic/items?operationType=scan&queryableSelection=table&pageNum=1"));
assert.match(JSON.stringify(items), /Nina Simone/);
assert.match(await page("/tables/AdminMusic/meta"), /ACTIVE/);
await page("/tables/AdminMusic", { method: "DELETE" });
assert.doesNotMatch(await page("/"), /AdminMusic/);
server.close();
