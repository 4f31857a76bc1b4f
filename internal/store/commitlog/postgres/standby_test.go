package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/store/commitlog/postgres"
)

// TestARecordThatTheStandbyLacks checks that a record which only the primary has is not acknowledged,
// however often Append retries. The primary may be lost before the standby gets the record.
func TestARecordThatTheStandbyLacks(t *testing.T) {
	race.SkipLong(t)
	p := logtest.StartPostgresPair(t)
	l, err := postgres.Open(t.Context(), postgres.Options{URL: p.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at, err := l.Append(t.Context(), "ada", 0, []byte("both have it"))
	if err != nil {
		t.Fatal(err)
	}
	p.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	_, err = l.Append(ctx, "ada", at, []byte("one has it"))
	if err == nil {
		t.Error("it is acknowledged")
	}
	p.Crash()
	p.Continue()
	p.Promote()
	last, err := l.Last(t.Context(), "ada")
	if err != nil || last < at {
		t.Errorf("the standby has records up to %d, %v", last, err)
	}
	if _, err := l.Append(t.Context(), "ada", last, []byte("the new primary has it")); err != nil {
		t.Error(err)
	}
}
