package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/store/memory"
)

func ExampleQueue_Drain() {
	ctx := context.Background()
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	q := jobs.NewQueue(memory.NewShelf(), jobs.Options{Now: clock})
	for range 2 { // the second time adds nothing
		_, added, err := q.Add(ctx, jobs.New{Kind: "greet", Key: "ada", Payload: json.RawMessage(`"Ada"`)})
		if err != nil {
			panic(err)
		}
		fmt.Println("added:", added)
	}
	if _, _, err := q.Add(ctx, jobs.New{Kind: "greet", Key: "nobody"}); err != nil {
		panic(err)
	}
	greet := func(_ context.Context, j jobs.Job, _ func(stage string, done, total int)) (string, error) {
		var name string
		if json.Unmarshal(j.Payload, &name) != nil {
			return "", jobs.Permanent(errors.New("there is no name"))
		}
		return "hello " + name, nil
	}
	report, err := q.Drain(ctx, map[string]jobs.Handler{"greet": greet})
	if err != nil {
		panic(err)
	}
	for _, j := range report.Jobs {
		fmt.Println(j.Key, j.State, j.Note+j.Error)
	}
	// Output:
	// added: true
	// added: false
	// ada done hello Ada
	// nobody dead there is no name
}
