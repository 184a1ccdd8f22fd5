// Neighbour services with the AWS SDK for JavaScript v3, configured by the environment alone.
// Exits with an error at the first surprise.
import assert from "node:assert/strict";
import {
  CloudWatchClient,
  ListMetricStreamsCommand,
  ListMetricsCommand,
} from "@aws-sdk/client-cloudwatch";
import { DecodeAuthorizationMessageCommand, GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";

const sts = new STSClient({});
const identity = await sts.send(new GetCallerIdentityCommand({}));
assert.match(identity.Arn, /^arn:aws:iam::\d{12}:root$/);
assert.ok(identity.$metadata.requestId);
const unserved = new DecodeAuthorizationMessageCommand({ EncodedMessage: "x" });
await assert.rejects(sts.send(unserved), { name: "InvalidAction" });

const cloudwatch = new CloudWatchClient({});
const listed = await cloudwatch.send(new ListMetricsCommand({ Namespace: "Nowhere" }));
assert.deepEqual(listed.Metrics, []);
await assert.rejects(
  cloudwatch.send(new ListMetricStreamsCommand({})),
  (error) => error.name === "UnknownOperationException" && error.$fault === "client",
);
const Dimensions = Array.from({ length: 11 }, (_, n) => ({ Name: `name${n}` }));
await assert.rejects(
  cloudwatch.send(new ListMetricsCommand({ Dimensions })),
  (error) => error.message.includes("at 'dimensions' failed to satisfy constraint"),
);
