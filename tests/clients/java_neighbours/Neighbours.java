// Neighbour services with the AWS SDK for Java v2, configured by the environment alone. Ends with an
// error at the first surprise.
import java.time.Instant;
import java.util.List;
import java.util.stream.IntStream;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.services.cloudwatch.CloudWatchClient;
import software.amazon.awssdk.services.cloudwatch.model.ComparisonOperator;
import software.amazon.awssdk.services.cloudwatch.model.Datapoint;
import software.amazon.awssdk.services.cloudwatch.model.Dimension;
import software.amazon.awssdk.services.cloudwatch.model.DimensionFilter;
import software.amazon.awssdk.services.cloudwatch.model.Metric;
import software.amazon.awssdk.services.cloudwatch.model.MetricAlarm;
import software.amazon.awssdk.services.cloudwatch.model.MetricDataQuery;
import software.amazon.awssdk.services.cloudwatch.model.MetricDatum;
import software.amazon.awssdk.services.cloudwatch.model.StateValue;
import software.amazon.awssdk.services.cloudwatch.model.Statistic;
import software.amazon.awssdk.services.sts.StsClient;

public class Neighbours {
    static void expect(boolean holds, Object what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    static AwsServiceException refusal(Runnable call) {
        try {
            call.run();
        } catch (AwsServiceException refused) {
            return refused;
        }
        throw new AssertionError("the call was carried out");
    }

    static void expectCode(Runnable call, String code) {
        String given = refusal(call).awsErrorDetails().errorCode();
        expect(code.equals(given), "unexpected code: " + given);
    }

    public static void main(String[] arguments) {
        try (StsClient sts = StsClient.create()) {
            String arn = sts.getCallerIdentity().arn();
            expect(arn.matches("arn:aws:iam::\\d{12}:root"), arn);
            expectCode(() -> sts.decodeAuthorizationMessage(r -> r.encodedMessage("x")), "InvalidAction");
        }
        try (CloudWatchClient cloudWatch = CloudWatchClient.create()) {
            expect(cloudWatch.listMetrics(list -> list.namespace("Nowhere")).metrics().isEmpty(),
                "unexpected metrics");
            expectCode(() -> cloudWatch.listMetricStreams(list -> {}), "UnknownOperationException");
            List<DimensionFilter> many = IntStream.range(0, 11)
                .mapToObj(n -> DimensionFilter.builder().name("name" + n).build()).toList();
            String text = refusal(() -> cloudWatch.listMetrics(list -> list.dimensions(many)))
                .awsErrorDetails().errorMessage();
            expect(text.contains("at 'dimensions' failed to satisfy constraint"), text);
            measure(cloudWatch);
            watch(cloudWatch);
        }
    }

    static final Metric METRIC = Metric.builder().namespace("Java").metricName("Sales")
        .dimensions(Dimension.builder().name("Store").value("a").build()).build();

    // Puts metrics, and reads them back with and without metric math.
    static void measure(CloudWatchClient cloudWatch) {
        MetricDatum.Builder datum = MetricDatum.builder()
            .metricName(METRIC.metricName()).dimensions(METRIC.dimensions());
        MetricDatum several = datum.copy().values(1.0, 5.0).counts(3.0, 1.0).build();
        MetricDatum single = datum.value(2.5).build();
        cloudWatch.putMetricData(put -> put.namespace(METRIC.namespace()).metricData(single, several));
        Instant start = Instant.now().minusSeconds(3600), end = Instant.now().plusSeconds(60);
        List<Datapoint> points = cloudWatch.getMetricStatistics(get -> get
            .namespace(METRIC.namespace()).metricName(METRIC.metricName())
            .dimensions(METRIC.dimensions()).startTime(start).endTime(end).period(3600)
            .statistics(Statistic.SUM, Statistic.SAMPLE_COUNT)).datapoints();
        expect(points.stream().mapToDouble(Datapoint::sum).sum() == 10.5, points);
        expect(points.stream().mapToDouble(Datapoint::sampleCount).sum() == 5, points);
        List<Double> values = cloudWatch.getMetricData(get -> get.startTime(start).endTime(end)
            .metricDataQueries(
                MetricDataQuery.builder().id("m1").returnData(false)
                    .metricStat(stat -> stat.metric(METRIC).period(3600).stat("Sum")).build(),
                MetricDataQuery.builder().id("e1").expression("m1 * 2").build()))
            .metricDataResults().get(0).values();
        expect(values.stream().mapToDouble(Double::doubleValue).sum() == 21, values);
    }

    // Puts an alarm and a dashboard, and reads them back.
    static void watch(CloudWatchClient cloudWatch) {
        cloudWatch.putMetricAlarm(put -> put.alarmName("java").namespace(METRIC.namespace())
            .metricName(METRIC.metricName()).dimensions(METRIC.dimensions())
            .statistic(Statistic.SUM).period(60).evaluationPeriods(1).threshold(1e6)
            .comparisonOperator(ComparisonOperator.GREATER_THAN_THRESHOLD)
            .treatMissingData("ignore"));
        cloudWatch.setAlarmState(set -> set.alarmName("java").stateValue(StateValue.ALARM)
            .stateReason("a test"));
        MetricAlarm alarm = cloudWatch.describeAlarms(list -> list.alarmNames("java"))
            .metricAlarms().get(0);
        expect(alarm.stateReason().equals("a test"), alarm);
        expect(!cloudWatch.describeAlarmHistory(list -> list.alarmName("java"))
            .alarmHistoryItems().isEmpty(), "no history");
        cloudWatch.putDashboard(put -> put.dashboardName("java").dashboardBody("{\"widgets\":[]}"));
        String body = cloudWatch.getDashboard(get -> get.dashboardName("java")).dashboardBody();
        expect(body.equals("{\"widgets\":[]}"), body);
        expectCode(() -> cloudWatch.getDashboard(get -> get.dashboardName("x")), "ResourceNotFound");
    }
}
