import com.amazonaws.services.dynamodbv2.streamsadapter.AmazonDynamoDBStreamsAdapterClient;
import com.amazonaws.services.dynamodbv2.streamsadapter.StreamsSchedulerFactory;
import com.amazonaws.services.dynamodbv2.streamsadapter.model.DynamoDBStreamsProcessRecordsInput;
import com.amazonaws.services.dynamodbv2.streamsadapter.polling.DynamoDBStreamsPollingConfig;
import com.amazonaws.services.dynamodbv2.streamsadapter.processor.DynamoDBStreamsShardRecordProcessor;
import java.util.Map;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.cloudwatch.CloudWatchAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.streams.DynamoDbStreamsClient;
import software.amazon.kinesis.common.ConfigsBuilder;
import software.amazon.kinesis.common.InitialPositionInStream;
import software.amazon.kinesis.common.InitialPositionInStreamExtended;
import software.amazon.kinesis.coordinator.Scheduler;
import software.amazon.kinesis.lifecycle.events.InitializationInput;
import software.amazon.kinesis.lifecycle.events.LeaseLostInput;
import software.amazon.kinesis.lifecycle.events.ShardEndedInput;
import software.amazon.kinesis.lifecycle.events.ShutdownRequestedInput;
import software.amazon.kinesis.metrics.NullMetricsFactory;
import software.amazon.kinesis.processor.RecordProcessorCheckpointer;

/**
 * A worker of the Kinesis Client Library on a DynamoDB stream. Prints a line for every shard that
 * starts or ends and for every record; stops when its input ends.
 */
public final class StreamWorker {
    /** Prints what it is given, and checkpoints after every batch. */
    private static final class Printer implements DynamoDBStreamsShardRecordProcessor {
        private String shard;

        @Override
        public void initialize(InitializationInput input) {
            shard = input.shardId();
            say("start", shard);
        }

        @Override
        public void processRecords(DynamoDBStreamsProcessRecordsInput input) {
            for (var record : input.records()) {
                var change = record.getRecord();
                var images = change.dynamodb();
                say("record", shard, change.eventNameAsString(), images.keys().get("id").s(),
                    version(images.oldImage()), version(images.newImage()));
            }
            checkpoint(input.checkpointer());
        }

        @Override
        public void leaseLost(LeaseLostInput input) {
            say("lost", shard);
        }

        @Override
        public void shardEnded(ShardEndedInput input) {
            checkpoint(input.checkpointer());
            say("end", shard);
        }

        @Override
        public void shutdownRequested(ShutdownRequestedInput input) {
            checkpoint(input.checkpointer());
        }

        private static String version(Map<String, AttributeValue> image) {
            return image.isEmpty() ? "-" : image.get("version").n();
        }

        private static void checkpoint(RecordProcessorCheckpointer checkpointer) {
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

    private static Scheduler scheduler(String application, String streamArn) {
        var stream =
            new AmazonDynamoDBStreamsAdapterClient(DynamoDbStreamsClient.create(), Region.US_EAST_1);
        var start =
            InitialPositionInStreamExtended.newInitialPosition(InitialPositionInStream.TRIM_HORIZON);
        var tracker = StreamsSchedulerFactory.createSingleStreamTracker(streamArn, start);
        var settings = new ConfigsBuilder(
            tracker, application, stream, DynamoDbAsyncClient.create(),
            CloudWatchAsyncClient.create(), "worker", Printer::new);
        var leases = settings.leaseManagementConfig()
            .failoverTimeMillis(2000)
            .shardSyncIntervalMillis(500);
        // It would ask the metadata service of EC2 what kind of machine this is.
        leases.workerUtilizationAwareAssignmentConfig().disableWorkerMetrics(true);
        var polling = new DynamoDBStreamsPollingConfig(streamArn, stream);
        polling.idleTimeBetweenReadsInMillis(200);
        return StreamsSchedulerFactory.createScheduler(
            settings.checkpointConfig(),
            settings.coordinatorConfig().parentShardPollIntervalMillis(200),
            leases,
            settings.lifecycleConfig(),
            settings.metricsConfig().metricsFactory(new NullMetricsFactory()),
            settings.processorConfig(),
            settings.retrievalConfig().retrievalSpecificConfig(polling),
            stream);
    }

    public static void main(String[] arguments) throws Exception {
        Scheduler scheduler = scheduler(arguments[0], arguments[1]);
        new Thread(scheduler, "scheduler").start();
        System.in.transferTo(System.out);
        scheduler.startGracefulShutdown().get();
        System.exit(0);
    }
}
