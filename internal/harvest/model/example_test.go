package model_test

import (
	"context"
	"fmt"

	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
)

func ExampleClient_Draft() {
	server := modeltest.Start(modeltest.Injected()) // a model that a planted text took in
	defer server.Stop()
	client := model.New(model.Options{BaseURL: server.URL, Model: modeltest.Model})
	defer client.Close()

	d, err := client.Draft(context.Background(), modeltest.Session(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Summary)
	for _, s := range d.Statements {
		fmt.Printf("%s: %s (message %d: %q)\n", s.Sort, s.Text, s.Seq, s.Quote)
	}
	fmt.Println("dropped", d.Dropped)
	// Output:
	// The user had the nightly build repaired. The typo in go.mod was fixed.
	// preference: The user prefers small commits with one change each. (message 1: "I prefer small commits, one change each")
	// dropped map[instruction:3 tool result:1]
}
