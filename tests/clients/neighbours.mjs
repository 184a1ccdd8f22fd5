// Neighbour services with the AWS SDK for JavaScript v3, configured by the environment alone.
// Exits with an error at the first surprise.
import assert from "node:assert/strict";
import {
  CloudWatchClient,
  DescribeAlarmHistoryCommand,
  DescribeAlarmsCommand,
  GetDashboardCommand,
  GetMetricDataCommand,
  GetMetricStatisticsCommand,
  ListMetricStreamsCommand,
  ListMetricsCommand,
  PutDashboardCommand,
  PutMetricAlarmCommand,
  PutMetricDataCommand,
  SetAlarmStateCommand,
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

// Metrics, metric math, alarms and dashboards.
const Namespace = "JavaScript";
const Metric = { Namespace, MetricName: "Sales", Dimensions: [{ Name: "Store", Value: "a" }] };
const { MetricName, Dimensions: own } = Metric;
const datum = { MetricName, Dimensions: own, Unit: "Count" };
const MetricData = [{ ...datum, Value: 2.5 }, { ...datum, Values: [1, 5], Counts: [3, 1] }];
await cloudwatch.send(new PutMetricDataCommand({ Namespace, MetricData }));
const span = { StartTime: new Date(Date.now() - 3600e3), EndTime: new Date(Date.now() + 60e3) };
const statistics = await cloudwatch.send(
  new GetMetricStatisticsCommand({ ...Metric, ...span, Period: 3600, Statistics: ["Sum", "SampleCount"] }),
);
const sum = (values) => values.reduce((total, value) => total + value, 0);
assert.equal(sum(statistics.Datapoints.map((point) => point.Sum)), 10.5);
assert.equal(sum(statistics.Datapoints.map((point) => point.SampleCount)), 5);
assert.ok(statistics.Datapoints[0].Timestamp instanceof Date);
const figures = await cloudwatch.send(
  new GetMetricDataCommand({
    ...span,
    MetricDataQueries: [
      { Id: "m1", ReturnData: false, MetricStat: { Metric, Period: 3600, Stat: "Sum" } },
      { Id: "e1", Expression: "m1 * 2" },
    ],
  }),
);
assert.equal(sum(figures.MetricDataResults[0].Values), 21);
const AlarmName = "javascript";
await cloudwatch.send(
  new PutMetricAlarmCommand({
    AlarmName,
    ...Metric,
    Statistic: "Sum",
    Period: 60,
    EvaluationPeriods: 1,
    Threshold: 1e6,
    ComparisonOperator: "GreaterThanThreshold",
    TreatMissingData: "ignore",
  }),
);
await cloudwatch.send(
  new SetAlarmStateCommand({ AlarmName, StateValue: "ALARM", StateReason: "a test" }),
);
const alarms = await cloudwatch.send(new DescribeAlarmsCommand({ AlarmNames: [AlarmName] }));
assert.equal(alarms.MetricAlarms[0].StateReason, "a test");
const history = await cloudwatch.send(new DescribeAlarmHistoryCommand({ AlarmName }));
assert.ok(history.AlarmHistoryItems.some((item) => item.HistoryItemType === "StateUpdate"));
const DashboardBody = '{"widgets":[]}';
await cloudwatch.send(new PutDashboardCommand({ DashboardName: "javascript", DashboardBody }));
const dashboard = await cloudwatch.send(new GetDashboardCommand({ DashboardName: "javascript" }));
assert.equal(dashboard.DashboardBody, DashboardBody);
