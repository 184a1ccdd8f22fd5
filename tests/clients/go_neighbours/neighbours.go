// Neighbour services with the AWS SDK for Go v2, configured by the environment alone. Ends with an
// error at the first surprise.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
)

func expect(holds bool, what string, details ...any) {
	if !holds {
		log.Fatalln(append([]any{what}, details...)...)
	}
}

func expectCode(err error, code string) {
	var refused smithy.APIError
	expect(errors.As(err, &refused), "no error of the service:", err)
	expect(refused.ErrorCode() == code, "unexpected code:", refused.ErrorCode(), err)
}

func main() {
	ctx := context.Background()
	settings, err := config.LoadDefaultConfig(ctx)
	expect(err == nil, "no configuration:", err)

	tokens := sts.NewFromConfig(settings)
	identity, err := tokens.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	expect(err == nil, "no identity:", err)
	root := regexp.MustCompile(`^arn:aws:iam::\d{12}:root$`)
	expect(root.MatchString(*identity.Arn), "unexpected caller:", *identity.Arn)
	_, err = tokens.DecodeAuthorizationMessage(ctx, &sts.DecodeAuthorizationMessageInput{EncodedMessage: aws.String("x")})
	expectCode(err, "InvalidAction")

	metrics := cloudwatch.NewFromConfig(settings)
	listed, err := metrics.ListMetrics(ctx, &cloudwatch.ListMetricsInput{
		Namespace: aws.String("Nowhere"),
	})
	expect(err == nil, "no metrics:", err)
	expect(len(listed.Metrics) == 0, "unexpected metrics:", listed.Metrics)
	_, err = metrics.ListMetricStreams(ctx, &cloudwatch.ListMetricStreamsInput{})
	expectCode(err, "UnknownOperationException")
	many := make([]types.DimensionFilter, 11)
	for n := range many {
		many[n].Name = aws.String(fmt.Sprintf("name%d", n))
	}
	_, err = metrics.ListMetrics(ctx, &cloudwatch.ListMetricsInput{Dimensions: many})
	expect(err != nil && strings.Contains(err.Error(), "at 'dimensions' failed"), "accepted:", err)
	measure(ctx, metrics)
	watch(ctx, metrics)
}

var metric = types.Metric{
	Namespace:  aws.String("Go"),
	MetricName: aws.String("Sales"),
	Dimensions: []types.Dimension{{Name: aws.String("Store"), Value: aws.String("a")}},
}

// measure puts metrics, and reads them back with and without metric math.
func measure(ctx context.Context, metrics *cloudwatch.Client) {
	_, err := metrics.PutMetricData(ctx, &cloudwatch.PutMetricDataInput{
		Namespace: metric.Namespace,
		MetricData: []types.MetricDatum{
			{MetricName: metric.MetricName, Dimensions: metric.Dimensions, Value: aws.Float64(2.5)},
			{
				MetricName: metric.MetricName, Dimensions: metric.Dimensions,
				Values: []float64{1, 5}, Counts: []float64{3, 1},
			},
		},
	})
	expect(err == nil, "no metrics put:", err)
	start, end := aws.Time(time.Now().Add(-time.Hour)), aws.Time(time.Now().Add(time.Minute))
	statistics, err := metrics.GetMetricStatistics(ctx, &cloudwatch.GetMetricStatisticsInput{
		Namespace: metric.Namespace, MetricName: metric.MetricName, Dimensions: metric.Dimensions,
		StartTime: start, EndTime: end, Period: aws.Int32(3600),
		Statistics: []types.Statistic{types.StatisticSum, types.StatisticSampleCount},
	})
	expect(err == nil, "no statistics:", err)
	total, count := 0.0, 0.0
	for _, point := range statistics.Datapoints {
		total, count = total+*point.Sum, count+*point.SampleCount
	}
	expect(total == 10.5 && count == 5, "unexpected statistics:", total, count)
	data, err := metrics.GetMetricData(ctx, &cloudwatch.GetMetricDataInput{
		StartTime: start, EndTime: end,
		MetricDataQueries: []types.MetricDataQuery{
			{
				Id: aws.String("m1"), ReturnData: aws.Bool(false),
				MetricStat: &types.MetricStat{
					Metric: &metric, Period: aws.Int32(3600), Stat: aws.String("Sum"),
				},
			},
			{Id: aws.String("e1"), Expression: aws.String("m1 * 2")},
		},
	})
	expect(err == nil, "no data:", err)
	total = 0
	for _, value := range data.MetricDataResults[0].Values {
		total += value
	}
	expect(total == 21, "unexpected data:", total)
}

// watch puts an alarm and a dashboard, and reads them back.
func watch(ctx context.Context, metrics *cloudwatch.Client) {
	name := aws.String("go")
	_, err := metrics.PutMetricAlarm(ctx, &cloudwatch.PutMetricAlarmInput{
		AlarmName: name, Namespace: metric.Namespace, MetricName: metric.MetricName,
		Dimensions: metric.Dimensions, Statistic: types.StatisticSum, Period: aws.Int32(60),
		EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(1e6),
		ComparisonOperator: types.ComparisonOperatorGreaterThanThreshold,
		TreatMissingData:   aws.String("ignore"),
	})
	expect(err == nil, "no alarm put:", err)
	_, err = metrics.SetAlarmState(ctx, &cloudwatch.SetAlarmStateInput{
		AlarmName: name, StateValue: types.StateValueAlarm, StateReason: aws.String("a test"),
	})
	expect(err == nil, "no state set:", err)
	alarms, err := metrics.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{
		AlarmNames: []string{*name},
	})
	expect(err == nil, "no alarms:", err)
	expect(*alarms.MetricAlarms[0].StateReason == "a test", "unexpected reason")
	history, err := metrics.DescribeAlarmHistory(ctx, &cloudwatch.DescribeAlarmHistoryInput{
		AlarmName: name, HistoryItemType: types.HistoryItemTypeStateUpdate,
	})
	expect(err == nil && len(history.AlarmHistoryItems) > 0, "no history:", err)
	body := aws.String(`{"widgets":[]}`)
	_, err = metrics.PutDashboard(ctx, &cloudwatch.PutDashboardInput{
		DashboardName: name, DashboardBody: body,
	})
	expect(err == nil, "no dashboard put:", err)
	dashboard, err := metrics.GetDashboard(ctx, &cloudwatch.GetDashboardInput{DashboardName: name})
	expect(err == nil && *dashboard.DashboardBody == *body, "no dashboard:", err)
	_, err = metrics.GetDashboard(ctx, &cloudwatch.GetDashboardInput{DashboardName: aws.String("x")})
	expectCode(err, "ResourceNotFound")
}
