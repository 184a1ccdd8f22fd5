import com.amazonaws.auth.AWSCredentialsProvider;
import com.amazonaws.auth.EnvironmentVariableCredentialsProvider;
import com.amazonaws.client.builder.AwsClientBuilder.EndpointConfiguration;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDB;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBClientBuilder;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBStreamsClientBuilder;
import com.amazonaws.services.dynamodbv2.model.AttributeValue;
import com.amazonaws.services.dynamodbv2.model.Record;
import com.amazonaws.services.dynamodbv2.streamsadapter.AmazonDynamoDBStreamsAdapterClient;
import com.amazonaws.services.dynamodbv2.streamsadapter.StreamsWorkerFactory;
import com.amazonaws.services.dynamodbv2.streamsadapter.model.RecordAdapter;
import com.amazonaws.services.kinesis.clientlibrary.interfaces.IRecordProcessorCheckpointer;
import com.amazonaws.services.kinesis.clientlibrary.interfaces.v2.IRecordProcessor;
import com.amazonaws.services.kinesis.clientlibrary.lib.worker.InitialPositionInStream;
import com.amazonaws.services.kinesis.clientlibrary.lib.worker.KinesisClientLibConfiguration;
import com.amazonaws.services.kinesis.clientlibrary.lib.worker.ShutdownReason;
import com.amazonaws.services.kinesis.clientlibrary.lib.worker.Worker;
import com.amazonaws.services.kinesis.clientlibrary.types.InitializationInput;
import com.amazonaws.services.kinesis.clientlibrary.types.ProcessRecordsInput;
import com.amazonaws.services.kinesis.clientlibrary.types.ShutdownInput;
import com.amazonaws.services.kinesis.metrics.impl.NullMetricsFactory;
import com.amazonaws.services.kinesis.metrics.interfaces.MetricsLevel;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A worker of the Kinesis Client Library on a DynamoDB stream. Prints a line for every shard that
 * starts or ends and for every record; stops when its input ends.
 */
public final class StreamWorker {
    /** Prints what it is given, and checkpoints after every batch. */
    private static final class Printer implements IRecordProcessor {
        private String shard;

        @Override
        public void initialize(InitializationInput input) {
            shard = input.getShardId();
            say("start", shard);
        }

        @Override
        public void processRecords(ProcessRecordsInput input) {
            for (var record : input.getRecords()) {
                Record change = ((RecordAdapter) record).getInternalObject();
                var images = change.getDynamodb();
                say("record", shard, change.getEventName(), images.getKeys().get("id").getS(),
                    version(images.getOldImage()), version(images.getNewImage()));
            }
            checkpoint(input.getCheckpointer());
        }

        @Override
        public void shutdown(ShutdownInput input) {
            if (input.getShutdownReason() == ShutdownReason.TERMINATE) {
                checkpoint(input.getCheckpointer());
                say("end", shard);
            }
        }

        private static String version(Map<String, AttributeValue> image) {
            return image == null ? "-" : image.get("version").getN();
        }

        private static void checkpoint(IRecordProcessorCheckpointer checkpointer) {
            try {
                checkpointer.checkpoint();
            } catch (Exception failure) {
                throw new IllegalStateException(failure);
            }
        }
    }

    private static synchronized void say(String... words) {
        System.out.println(String.join(" ", words));
    }

    public static void main(String[] arguments) throws Exception {
        var endpoint = new EndpointConfiguration(System.getenv("AWS_ENDPOINT_URL"), "us-east-1");
        AWSCredentialsProvider credentials = new EnvironmentVariableCredentialsProvider();
        AmazonDynamoDB leases = AmazonDynamoDBClientBuilder.standard()
            .withEndpointConfiguration(endpoint).withCredentials(credentials).build();
        var stream = new AmazonDynamoDBStreamsAdapterClient(
            AmazonDynamoDBStreamsClientBuilder.standard()
                .withEndpointConfiguration(endpoint).withCredentials(credentials).build());
        var settings =
            new KinesisClientLibConfiguration(arguments[0], arguments[1], credentials, "worker")
                .withInitialPositionInStream(InitialPositionInStream.TRIM_HORIZON)
                .withMetricsLevel(MetricsLevel.NONE)
                .withMaxRecords(100)
                .withIdleTimeBetweenReadsInMillis(50)
                .withParentShardPollIntervalMillis(200)
                .withShardSyncIntervalMillis(500)
                .withFailoverTimeMillis(2000);
        ExecutorService threads = Executors.newCachedThreadPool();
        Worker worker = StreamsWorkerFactory.createDynamoDbStreamsWorker(
            Printer::new, settings, stream, leases, new NullMetricsFactory(), threads);
        threads.execute(worker);
        System.in.transferTo(System.out);
        worker.startGracefulShutdown().get();
        System.exit(0);
    }
}
