// packages: dynamodb-onetable@2 @aws-sdk/client-dynamodb@3
// Accounts and users by OneTable: one table, unique attributes, pages and a transaction.
import assert from "node:assert/strict";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Table } from "dynamodb-onetable";

const table = new Table({
  name: "OneTableAccounts",
  client: new DynamoDBClient({}),
  partial: true,
  schema: {
    format: "onetable:1.1.0",
    version: "0.0.1",
    indexes: {
      primary: { hash: "pk", sort: "sk" },
      gs1: { hash: "gs1pk", sort: "gs1sk", project: "all" },
    },
    models: {
      Account: {
        pk: { type: String, value: "account#${id}" },
        sk: { type: String, value: "account#" },
        id: { type: String, required: true },
        balance: { type: Number, default: 0 },
      },
      User: {
        pk: { type: String, value: "account#${account}" },
        sk: { type: String, value: "user#${email}" },
        gs1pk: { type: String, value: "user#" },
        gs1sk: { type: String, value: "user#${email}" },
        account: { type: String, required: true },
        email: { type: String, unique: true, required: true },
        born: { type: Date },
      },
    },
    params: { isoDates: true, timestamps: true },
  },
});
await table.createTable();
const [Account, User] = [table.getModel("Account"), table.getModel("User")];

await Account.create({ id: "1" });
await assert.rejects(Account.create({ id: "1" }), /exists/i);
for (let n = 0; n < 12; n++) await User.create({ account: "1", email: `u${n}@example.com`, born: new Date(0) });
await assert.rejects(User.create({ account: "2", email: "u1@example.com" }), /unique/i);

let users = await User.find({}, { index: "gs1", limit: 5 });
const seen = users.map((user) => user.email);
while (users.next) {
  users = await User.find({}, { index: "gs1", limit: 5, next: users.next });
  seen.push(...users.map((user) => user.email));
}
assert.deepEqual([seen.length, new Set(seen).size], [12, 12]);
const changed = await Account.update({ id: "1" }, { add: { balance: 7 }, where: "${balance} < {10}" });
assert.equal(changed.balance, 7);
const transaction = {};
await Account.update({ id: "1" }, { add: { balance: -7 }, transaction });
await Account.create({ id: "2", balance: 7 }, { transaction });
await table.transact("write", transaction);
assert.deepEqual([(await Account.get({ id: "1" })).balance, (await Account.get({ id: "2" })).balance], [0, 7]);
assert.equal((await User.get({ account: "1", email: "u3@example.com" })).born.getTime(), 0);
const collection = await table.fetch(["Account", "User"], { pk: "account#1" });
assert.deepEqual([collection.Account.length, collection.User.length], [1, 12]);
