import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.PutRequest;
import software.amazon.awssdk.services.dynamodb.model.ResourceNotFoundException;
import software.amazon.awssdk.services.dynamodb.model.ReturnValue;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;
import software.amazon.awssdk.services.dynamodb.model.TransactionCanceledException;
import software.amazon.awssdk.services.dynamodb.model.WriteRequest;

/** A session with the AWS SDK for Java v2. Ends with an error at the first surprise. */
public final class Session {
    private static final String TABLE = "JavaTracks";

    private static void expect(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException(what);
        }
    }

    private static AttributeValue text(String value) {
        return AttributeValue.fromS(value);
    }

    private static AttributeValue number(int value) {
        return AttributeValue.fromN(Integer.toString(value));
    }

    private static Map<String, AttributeValue> key(int number) {
        return Map.of("artist", text("Nina"), "number", number(number));
    }

    private static void create(DynamoDbClient client) {
        client.createTable(table -> table
                .tableName(TABLE)
                .billingMode(BillingMode.PAY_PER_REQUEST)
                .attributeDefinitions(
                        AttributeDefinition.builder().attributeName("artist").attributeType(ScalarAttributeType.S).build(),
                        AttributeDefinition.builder().attributeName("number").attributeType(ScalarAttributeType.N).build())
                .keySchema(
                        KeySchemaElement.builder().attributeName("artist").keyType(KeyType.HASH).build(),
                        KeySchemaElement.builder().attributeName("number").keyType(KeyType.RANGE).build()));
        client.waiter().waitUntilTableExists(table -> table.tableName(TABLE));
    }

    private static void writeAndRead(DynamoDbClient client) {
        List<WriteRequest> writes = IntStream.rangeClosed(1, 20)
                .mapToObj(n -> Map.of(
                        "artist", text("Nina"),
                        "number", number(n),
                        "tags", AttributeValue.fromSs(List.of("a", "b")),
                        "sound", AttributeValue.fromB(SdkBytes.fromByteArray(new byte[] {0, -1})),
                        "notes", AttributeValue.fromM(Map.of("é", AttributeValue.fromL(List.of())))))
                .map(item -> WriteRequest.builder().putRequest(PutRequest.builder().item(item).build()).build())
                .toList();
        var wrote = client.batchWriteItem(batch -> batch.requestItems(Map.of(TABLE, writes)));
        expect(wrote.unprocessedItems().isEmpty(), "items were not written");
        var numbers = client.queryPaginator(query -> query
                        .tableName(TABLE)
                        .keyConditionExpression("artist = :a AND #n BETWEEN :low AND :high")
                        .expressionAttributeNames(Map.of("#n", "number"))
                        .expressionAttributeValues(Map.of(":a", text("Nina"), ":low", number(3), ":high", number(12)))
                        .limit(4)
                        .scanIndexForward(false))
                .items()
                .stream()
                .map(item -> item.get("number").n())
                .toList();
        expect(numbers.size() == 10 && numbers.get(0).equals("12"), "the query found " + numbers);
        var item = client.getItem(get -> get.tableName(TABLE).key(key(1)).consistentRead(true)).item();
        expect(item.get("sound").b().asByteArray()[1] == -1, "bytes came back wrong");
        expect(item.get("notes").m().containsKey("é"), "a map came back wrong");
    }

    private static void changeAndRefuse(DynamoDbClient client) {
        var changed = client.updateItem(update -> update
                .tableName(TABLE)
                .key(key(1))
                .updateExpression("ADD plays :two")
                .expressionAttributeValues(Map.of(":two", number(2)))
                .returnValues(ReturnValue.UPDATED_NEW));
        expect(changed.attributes().equals(Map.of("plays", number(2))), "plays are wrong");
        try {
            client.deleteItem(delete -> delete.tableName(TABLE).key(key(1)).conditionExpression("plays > artist"));
            expect(false, "the condition was ignored");
        } catch (ConditionalCheckFailedException failure) {
            expect(failure.statusCode() == 400, "the status is " + failure.statusCode());
        }
        try {
            client.transactWriteItems(transaction -> transaction.transactItems(
                    item -> item.delete(delete -> delete.tableName(TABLE).key(key(1))),
                    item -> item.conditionCheck(check -> check
                            .tableName(TABLE).key(key(99)).conditionExpression("attribute_exists(artist)"))));
            expect(false, "the transaction was carried out");
        } catch (TransactionCanceledException failure) {
            var codes = failure.cancellationReasons().stream().map(reason -> reason.code()).toList();
            expect(codes.equals(List.of("None", "ConditionalCheckFailed")), "the reasons are " + codes);
        }
        try {
            client.describeTable(table -> table.tableName("absent"));
            expect(false, "an absent table was described");
        } catch (ResourceNotFoundException failure) {
            expect(failure.requestId() != null, "there is no request id");
        }
    }

    public static void main(String[] arguments) {
        // Without the variable AWS_ENDPOINT_URL this would be AWS.
        URI endpoint = URI.create(System.getenv("AWS_ENDPOINT_URL"));
        try (DynamoDbClient client = DynamoDbClient.builder().endpointOverride(endpoint).build()) {
            create(client);
            writeAndRead(client);
            changeAndRefuse(client);
            client.deleteTable(table -> table.tableName(TABLE));
        }
    }
}
