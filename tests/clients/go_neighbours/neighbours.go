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
}
