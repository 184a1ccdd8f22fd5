// A session with the AWS SDK for Go v2, configured by the environment alone. Ends with an error at
// the first surprise.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const table = "GoTracks"

type track struct {
	Artist string            `dynamodbav:"artist"`
	Number int               `dynamodbav:"number"`
	Title  string            `dynamodbav:"title"`
	Tags   []string          `dynamodbav:"tags,stringset"`
	Sound  []byte            `dynamodbav:"sound"`
	Notes  map[string]string `dynamodbav:"notes"`
}

func expect(holds bool, what string, details ...any) {
	if !holds {
		log.Fatalln(append([]any{what}, details...)...)
	}
}

func must[T any](result T, err error) T {
	expect(err == nil, "failed:", err)
	return result
}

func create(ctx context.Context, client *dynamodb.Client) {
	must(client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   aws.String(table),
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("artist"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("number"), AttributeType: types.ScalarAttributeTypeN},
			{AttributeName: aws.String("title"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("artist"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("number"), KeyType: types.KeyTypeRange},
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("by-title"),
			KeySchema: []types.KeySchemaElement{
				{AttributeName: aws.String("title"), KeyType: types.KeyTypeHash},
			},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	}))
	waiter := dynamodb.NewTableExistsWaiter(client)
	err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)}, 20*time.Second)
	expect(err == nil, "the table does not become active:", err)
}

func writeAndRead(ctx context.Context, client *dynamodb.Client) {
	var writes []types.WriteRequest
	for number := 1; number <= 20; number++ {
		one := track{"Nina", number, fmt.Sprintf("Song %d", number%5), []string{"a", "b"}, []byte{0, 255}, map[string]string{"é": ""}}
		item := must(attributevalue.MarshalMap(one))
		writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
	}
	wrote := must(client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{table: writes},
	}))
	expect(len(wrote.UnprocessedItems) == 0, "items were not written")

	key := expression.Key("artist").Equal(expression.Value("Nina")).And(
		expression.Key("number").Between(expression.Value(3), expression.Value(12)))
	filter := expression.Contains(expression.Name("tags"), "a")
	built := must(expression.NewBuilder().WithKeyCondition(key).WithFilter(filter).Build())
	pages := dynamodb.NewQueryPaginator(client, &dynamodb.QueryInput{
		TableName:                 aws.String(table),
		KeyConditionExpression:    built.KeyCondition(),
		FilterExpression:          built.Filter(),
		ExpressionAttributeNames:  built.Names(),
		ExpressionAttributeValues: built.Values(),
		Limit:                     aws.Int32(4),
		ScanIndexForward:          aws.Bool(false),
	})
	var found []track
	for pages.HasMorePages() {
		var some []track
		page := must(pages.NextPage(ctx))
		expect(attributevalue.UnmarshalListOfMaps(page.Items, &some) == nil, "items cannot be read")
		found = append(found, some...)
	}
	expect(len(found) == 10 && found[0].Number == 12, "the query found", found)
	expect(reflect.DeepEqual(found[0].Sound, []byte{0, 255}), "bytes came back as", found[0].Sound)

	indexed := must(client.Query(ctx, &dynamodb.QueryInput{
		TableName:                 aws.String(table),
		IndexName:                 aws.String("by-title"),
		KeyConditionExpression:    aws.String("title = :t"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":t": &types.AttributeValueMemberS{Value: "Song 1"}},
	}))
	expect(indexed.Count == 4, "the index holds", indexed.Count)
}

func changeAndRefuse(ctx context.Context, client *dynamodb.Client) {
	key := map[string]types.AttributeValue{
		"artist": &types.AttributeValueMemberS{Value: "Nina"},
		"number": &types.AttributeValueMemberN{Value: "1"},
	}
	update := expression.Add(expression.Name("plays"), expression.Value(2))
	built := must(expression.NewBuilder().WithUpdate(update).Build())
	changed := must(client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 aws.String(table),
		Key:                       key,
		UpdateExpression:          built.Update(),
		ExpressionAttributeNames:  built.Names(),
		ExpressionAttributeValues: built.Values(),
		ReturnValues:              types.ReturnValueUpdatedNew,
	}))
	expect(changed.Attributes["plays"].(*types.AttributeValueMemberN).Value == "2", "plays are wrong")

	_, err := client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName:                           aws.String(table),
		Key:                                 key,
		ConditionExpression:                 aws.String("attribute_not_exists(artist)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	expect(errors.As(err, &failed) && len(failed.Item) == 7, "no failed condition but", err)

	_, err = client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{
			{Delete: &types.Delete{TableName: aws.String(table), Key: key}},
			{ConditionCheck: &types.ConditionCheck{
				TableName:           aws.String(table),
				Key:                 map[string]types.AttributeValue{"artist": key["artist"], "number": &types.AttributeValueMemberN{Value: "99"}},
				ConditionExpression: aws.String("attribute_exists(artist)"),
			}},
		},
	})
	var cancelled *types.TransactionCanceledException
	expect(errors.As(err, &cancelled), "no cancelled transaction but", err)
	reasons := cancelled.CancellationReasons
	expect(*reasons[0].Code == "None" && *reasons[1].Code == "ConditionalCheckFailed", "reasons are wrong")
	got := must(client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(table), Key: key}))
	expect(got.Item != nil, "a cancelled transaction deleted an item")

	_, err = client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("absent")})
	var missing *types.ResourceNotFoundException
	expect(errors.As(err, &missing), "no missing table but", err)
}

func main() {
	ctx := context.Background()
	client := dynamodb.NewFromConfig(must(config.LoadDefaultConfig(ctx)))
	create(ctx, client)
	writeAndRead(ctx, client)
	changeAndRefuse(ctx, client)
	must(client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(table)}))
}
