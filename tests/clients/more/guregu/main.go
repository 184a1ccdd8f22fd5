// modules: github.com/guregu/dynamo/v2 github.com/aws/aws-sdk-go-v2/config github.com/aws/aws-sdk-go-v2/service/dynamodb
// Widgets by guregu/dynamo: a table from a struct, queries, updates, batches and a transaction.
package main

import (
	"context"
	"fmt"
	"log"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/guregu/dynamo/v2"
)

type widget struct {
	UserID int       `dynamo:"ID,hash" index:"ByKind,range"`
	Time   time.Time `dynamo:",range"`
	Kind   string    `index:"ByKind,hash"`
	Count  int
	Tags   []string `dynamo:",set"`
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func equal(got, want any) {
	if !reflect.DeepEqual(got, want) {
		log.Fatalf("got %v, want %v", got, want)
	}
}

func main() {
	ctx := context.Background()
	settings, err := config.LoadDefaultConfig(ctx)
	must(err)
	db := dynamo.New(settings)
	must(db.CreateTable("GureguWidgets", widget{}).OnDemand(true).Wait(ctx))
	table := db.Table("GureguWidgets")
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

	var rows []any
	for n := range 40 {
		rows = append(rows, widget{UserID: 1, Time: start.Add(time.Duration(n) * time.Hour), Kind: fmt.Sprint(n % 2), Count: n})
	}
	wrote, err := table.Batch().Write().Put(rows...).Run(ctx)
	must(err)
	equal(wrote, 40)

	var found []widget
	must(table.Get("ID", 1).Range("Time", dynamo.GreaterOrEqual, start.Add(30*time.Hour)).
		Filter("'Count' < ?", 33).Order(dynamo.Descending).All(ctx, &found))
	equal([]int{found[0].Count, found[1].Count, found[2].Count, len(found)}, []int{32, 31, 30, 3})
	count, err := table.Get("Kind", "1").Index("ByKind").Count(ctx)
	must(err)
	equal(count, 20)

	var changed widget
	must(table.Update("ID", 1).Range("Time", start).Add("Count", 5).AddStringsToSet("Tags", "hot").
		If("Kind = ?", "0").Value(ctx, &changed))
	equal(changed.Count, 5)
	equal(changed.Tags, []string{"hot"})
	err = table.Put(widget{UserID: 1, Time: start}).If("attribute_not_exists(ID)").Run(ctx)
	equal(dynamo.IsCondCheckFailed(err), true)

	must(db.WriteTx().Put(table.Put(widget{UserID: 2, Time: start})).
		Delete(table.Delete("ID", 1).Range("Time", start)).Run(ctx))
	equal(table.Get("ID", 1).Range("Time", dynamo.Equal, start).One(ctx, &changed), dynamo.ErrNotFound)
	must(table.Get("ID", 2).Range("Time", dynamo.Equal, start).One(ctx, &changed))
}
