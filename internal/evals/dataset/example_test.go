package dataset_test

import (
	"fmt"

	"github.com/kenlayer/ken/internal/evals/dataset"
)

func ExampleParseTime() {
	for _, s := range []string{"1:56 pm on 8 May, 2023", "March-15-2024", "2023/05/30 (Tue) 21:48"} {
		t, err := dataset.ParseTime(s)
		fmt.Println(t.Format("2006-01-02 15:04"), err)
	}
	// Output:
	// 2023-05-08 13:56 <nil>
	// 2024-03-15 00:00 <nil>
	// 2023-05-30 21:48 <nil>
}

func ExampleSet_Add() {
	set := &dataset.Set{Scoped: true, Queries: []dataset.Query{{ID: "q1", Text: "Who owns billing?", Conv: "monday"}}}
	if err := set.Add(dataset.SmallTalk()[:2]...); err != nil {
		fmt.Println(err)
	}
	for _, q := range set.Queries {
		fmt.Println(q.ID, q.Conv, q.NoAnswer())
	}
	// Output:
	// q1 monday false
	// small-talk-1 monday true
	// small-talk-2 monday true
}
