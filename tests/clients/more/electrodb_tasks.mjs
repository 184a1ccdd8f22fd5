// packages: electrodb@3 @aws-sdk/client-dynamodb@3
// Employees and tasks in one table by ElectroDB: entities, a service's collection, a transaction.
import assert from "node:assert/strict";
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Entity, Service } from "electrodb";

const client = new DynamoDBClient({});
const table = "ElectroTasks";
const key = (name) => ({ AttributeName: name, AttributeType: "S" });
const keys = (pk, sk) => [
  { AttributeName: pk, KeyType: "HASH" },
  { AttributeName: sk, KeyType: "RANGE" },
];
await client.send(
  new CreateTableCommand({
    TableName: table,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: ["pk", "sk", "gsi1pk", "gsi1sk"].map(key),
    KeySchema: keys("pk", "sk"),
    GlobalSecondaryIndexes: [
      { IndexName: "gsi1", KeySchema: keys("gsi1pk", "gsi1sk"), Projection: { ProjectionType: "ALL" } },
    ],
  }),
);

const entity = (name, attributes, id) =>
  new Entity(
    {
      model: { entity: name, version: "1", service: "office" },
      attributes: { team: { type: "string", required: true }, ...attributes },
      indexes: {
        primary: { pk: { field: "pk", composite: [id] }, sk: { field: "sk", composite: [] } },
        team: {
          collection: "team",
          index: "gsi1",
          pk: { field: "gsi1pk", composite: ["team"] },
          sk: { field: "gsi1sk", composite: [id] },
        },
      },
    },
    { client, table },
  );
const employees = entity("employee", { employee: { type: "string" }, salary: { type: "number" } }, "employee");
const tasks = entity(
  "task",
  { task: { type: "string" }, points: { type: "number" }, tags: { type: "set", items: "string" } },
  "task",
);
const office = new Service({ employees, tasks });

await employees.create({ employee: "ann", team: "db", salary: 10 }).go();
await tasks.put([...Array(40).keys()].map((n) => ({ task: `t${n}`, team: "db", points: n, tags: ["new"] }))).go();
await assert.rejects(employees.create({ employee: "ann", team: "db" }).go(), /conditional request failed/i);

const { data: team } = await office.collections.team({ team: "db" }).go({ pages: "all" });
assert.deepEqual([team.employees.length, team.tasks.length], [1, 40]);
const { data: large } = await tasks.query
  .team({ team: "db" })
  .where(({ points }, { gte }) => gte(points, 38))
  .go();
assert.deepEqual(large.map((one) => one.points).sort(), [38, 39]);
const { data: changed } = await tasks
  .patch({ task: "t1" })
  .add({ points: 5, tags: ["hot"] })
  .go({ response: "all_new" });
assert.deepEqual([changed.points, [...changed.tags].sort()], [6, ["hot", "new"]]);
const { canceled } = await office.transaction
  .write(({ employees, tasks }) => [
    employees.upsert({ employee: "bob", team: "db", salary: 1 }).commit(),
    tasks.delete({ task: "t0" }).commit(),
  ])
  .go();
assert.equal(canceled, false);
assert.equal((await tasks.get({ task: "t0" }).go()).data, null);
assert.equal((await employees.get({ employee: "bob" }).go()).data.salary, 1);
