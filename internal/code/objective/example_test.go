package objective_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/kenlayer/ken/internal/code/objective"
)

func ExampleParse() {
	o, problems := objective.Parse(".ken/knowledge/objectives/OBJ-0007.yaml", []byte("title: Ship the new login\ncreated: yesterday\nCompletedTasks: [Design]\nRemainingTasks: [Implement, Test]\n"))
	fmt.Println(o.ID, o.Title, o.Status, o.Progress())
	for _, t := range o.Tasks {
		fmt.Println(t.Line, t.Text, t.Done)
	}
	for _, p := range problems {
		fmt.Printf("line %d: %s. %s\n", p.Line, p.Text, p.Try)
	}
	// Output:
	// OBJ-0007 Ship the new login active 1 of 3
	// 3 Design true
	// 4 Implement false
	// 4 Test false
	// line 2: created is not a time: "yesterday". Write it as 2026-11-22T09:00:00Z.
}

func ExampleStore() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	s, err := objective.Open(dir, objective.Options{Now: func() time.Time { return time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC) }})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	o, err := s.Create(ctx, objective.Draft{Title: "Ship the new login", Tasks: []string{"Design", "Implement"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := s.Link(ctx, o.ID, objective.Link{Task: "design", Done: true, By: "agent-3"}); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := s.Link(ctx, o.ID, objective.Link{Task: "Measure"}); err != nil {
		fmt.Println(err)
		return
	}
	all, problems, err := s.List(ctx, objective.Active)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(objective.Summary(all, 500))
	p := all[0].Progress()
	fmt.Printf("%s, %.0f%%, %d problems\n", p, 100*p.Share(), len(problems))
	// Output:
	// Objectives (active):
	// - OBJ-0001 Ship the new login (1 of 3 tasks done)
	//   done: Design
	//   next: Implement; Measure
	// 1 of 3, 33%, 0 problems
}
