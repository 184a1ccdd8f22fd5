// packages: dynamoose@4 @aws-sdk/client-dynamodb@3
// Cats as Dynamoose models: the table is made from the schema; queries, conditions, a transaction.
import assert from "node:assert/strict";
import dynamoose from "dynamoose";

const schema = new dynamoose.Schema(
  {
    id: { type: String, hashKey: true },
    name: { type: String, rangeKey: true },
    breed: { type: String, index: { name: "byBreed", type: "global" } },
    lives: { type: Number, default: 9 },
    friends: { type: Set, schema: [String] },
  },
  { timestamps: true },
);
const Cat = dynamoose.model("DynamooseCat", schema);
new dynamoose.Table("DynamooseCats", [Cat], { throughput: "ON_DEMAND", expires: 3600 });

await Cat.create({ id: "1", name: "Tom", breed: "tabby", friends: new Set(["Jerry"]) });
await assert.rejects(Cat.create({ id: "1", name: "Tom" }), { name: "ConditionalCheckFailedException" });
await Cat.batchPut([...Array(20).keys()].map((n) => ({ id: "2", name: `c${n}`, breed: n % 2 ? "tabby" : "manx" })));

const tabbies = await Cat.query("breed").eq("tabby").using("byBreed").all().exec();
assert.equal(tabbies.length, 11);
const some = await Cat.query("id").eq("2").where("name").beginsWith("c1").sort("descending").limit(3).exec();
assert.deepEqual([some.map((cat) => cat.name), some.lastKey !== undefined], [["c19", "c18", "c17"], true]);
const tom = await Cat.update({ id: "1", name: "Tom" }, { $ADD: { lives: -1, friends: new Set(["Spike"]) } });
assert.deepEqual([tom.lives, [...tom.friends].sort()], [8, ["Jerry", "Spike"]]);
await dynamoose.transaction([
  Cat.transaction.create({ id: "3", name: "Felix" }),
  Cat.transaction.delete({ id: "2", name: "c0" }),
]);
assert.equal(await Cat.get({ id: "2", name: "c0" }), undefined);
assert.equal((await Cat.get({ id: "3", name: "Felix" })).lives, 9);
assert.equal((await Cat.scan("lives").lt(9).count().exec()).count, 1);
