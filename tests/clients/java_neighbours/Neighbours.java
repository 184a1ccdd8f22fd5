// Neighbour services with the AWS SDK for Java v2, configured by the environment alone. Ends with an
// error at the first surprise.
import java.util.List;
import java.util.stream.IntStream;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.services.cloudwatch.CloudWatchClient;
import software.amazon.awssdk.services.cloudwatch.model.DimensionFilter;
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
        }
    }
}
