// packages: dynamodb-toolbox@2 @aws-sdk/client-dynamodb@3 @aws-sdk/lib-dynamodb@3
// Pokémons by DynamoDB-Toolbox: schemas, updates, conditions, pages, batches and a transaction.
import assert from "node:assert/strict";
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { Entity } from "dynamodb-toolbox/entity";
import { $add, UpdateItemCommand } from "dynamodb-toolbox/entity/actions/update";
import { GetItemCommand } from "dynamodb-toolbox/entity/actions/get";
import { PutItemCommand } from "dynamodb-toolbox/entity/actions/put";
import { BatchPutRequest } from "dynamodb-toolbox/entity/actions/batchPut";
import { PutTransaction } from "dynamodb-toolbox/entity/actions/transactPut";
import { DeleteTransaction } from "dynamodb-toolbox/entity/actions/transactDelete";
import { execute as transact } from "dynamodb-toolbox/entity/actions/transactWrite";
import { item } from "dynamodb-toolbox/schema/item";
import { number } from "dynamodb-toolbox/schema/number";
import { string } from "dynamodb-toolbox/schema/string";
import { Table } from "dynamodb-toolbox/table";
import { BatchWriteCommand, execute as batch } from "dynamodb-toolbox/table/actions/batchWrite";
import { QueryCommand } from "dynamodb-toolbox/table/actions/query";

const client = new DynamoDBClient({});
await client.send(
  new CreateTableCommand({
    TableName: "ToolboxPokemons",
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: ["pk", "sk"].map((name) => ({ AttributeName: name, AttributeType: "S" })),
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
  }),
);
const table = new Table({
  name: "ToolboxPokemons",
  partitionKey: { name: "pk", type: "string" },
  sortKey: { name: "sk", type: "string" },
  documentClient: DynamoDBDocumentClient.from(client),
});
const pokemons = new Entity({
  name: "POKEMON",
  table,
  schema: item({
    trainer: string().key().savedAs("pk"),
    name: string().key().savedAs("sk"),
    level: number().default(1),
  }),
});

const many = [...Array(20).keys()].map((n) => ({ trainer: "ash", name: `p${String(n).padStart(2, "0")}`, level: n }));
await batch(table.build(BatchWriteCommand).requests(...many.map((one) => pokemons.build(BatchPutRequest).item(one))));
const first = { trainer: "ash", name: "pikachu" };
await pokemons.build(PutItemCommand).item(first).options({ condition: { attr: "name", exists: false } }).send();
await assert.rejects(
  pokemons.build(PutItemCommand).item(first).options({ condition: { attr: "name", exists: false } }).send(),
  { name: "ConditionalCheckFailedException" },
);
const { Attributes } = await pokemons
  .build(UpdateItemCommand)
  .item({ ...first, level: $add(41) })
  .options({ returnValues: "ALL_NEW" })
  .send();
assert.equal(Attributes.level, 42);
const { Items } = await table
  .build(QueryCommand)
  .entities(pokemons)
  .query({ partition: "ash", range: { beginsWith: "p" } })
  .options({ filters: { POKEMON: { attr: "level", gte: 18 } }, maxPages: Infinity, limit: 4 })
  .send();
assert.deepEqual(Items.map((one) => one.level), [18, 19, 42]);
await transact(
  pokemons.build(PutTransaction).item({ trainer: "misty", name: "staryu" }),
  pokemons.build(DeleteTransaction).key({ trainer: "ash", name: "p00" }),
);
assert.equal((await pokemons.build(GetItemCommand).key({ trainer: "ash", name: "p00" }).send()).Item, undefined);
assert.equal((await pokemons.build(GetItemCommand).key({ trainer: "misty", name: "staryu" }).send()).Item.level, 1);
