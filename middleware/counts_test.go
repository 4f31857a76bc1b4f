package middleware_test

import (
	"context"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

func TestCountsFollowTheWork(t *testing.T) {
	l := open(t, settings())
	if got := l.Counts(); got.Written+got.Lost+got.Harvested+got.Retried+got.Dead != 0 || got.Waiting != 0 {
		t.Errorf("at first %+v", got)
	}
	turn := ken.Turn{Session: "s", Messages: []ken.Message{{Role: "user", Text: "Remember that we deploy the billing service on Fridays."}}}
	for range 3 {
		l.Assemble(context.Background(), turn)
	}
	if err := l.Recorded(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := l.Counts(); got.Written != 3 || got.Waiting != 0 || got.Lost != 0 {
		t.Errorf("after three turns %+v", got)
	}
	if err := l.End(context.Background(), "", "s", session.Closed); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Harvest(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	if got := l.Counts(); got.Harvested != 1 || got.Retried+got.Dead != 0 {
		t.Errorf("after the harvest %+v", got)
	}
}
