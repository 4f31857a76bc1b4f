package commitlog_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"testing"

	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
)

func writer(t *testing.T, log commitlog.Log, after uint64) *commitlog.Writer {
	return commitlog.NewWriter(t.Context(), log, "ada", after, t.TempDir(), func(error) {})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func transactions(log commitlog.Log, after uint64) (out []commitlog.Record, err error) {
	for r, err := range commitlog.Transactions(after, log.Read(context.Background(), "ada", after)) {
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

// What is larger than a record comes back whole; what a node that ended has written in part
// does not.
func TestTransactionsAreWhole(t *testing.T) {
	log := logtest.NewMemory()
	w := writer(t, log, 0)
	large := bytes.Repeat([]byte("0123456789"), commitlog.MaxRecord/4)
	for _, data := range [][]byte{[]byte("one"), large, []byte("three")} {
		_, err := w.Append(data)
		must(t, err)
	}
	// Another node has appended the first part of a transaction, and then ended.
	last, err := log.Last(t.Context(), "ada")
	must(t, err)
	half := append([]byte{1, 0, 0, 0, 0, 0, 0, 0, byte(last)}, "half"...)
	at, err := log.Append(t.Context(), "ada", last, half)
	must(t, err)
	w = writer(t, log, at)
	must(t, w.Fence(t.Context()))
	_, err = w.Append([]byte("four"))
	must(t, err)
	got, err := transactions(log, 0)
	must(t, err)
	want := []string{"one", string(large), "three", "", "four"}
	for i, r := range got {
		if i >= len(want) || string(r.Data) != want[i] {
			t.Errorf("transaction %d has %d bytes", i, len(r.Data))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d transactions, want %d", len(got), len(want))
	}
}

// A record that is missing is noticed: who starts from an older snapshot than the log goes
// back to must not go on.
func TestAGapIsNoticed(t *testing.T) {
	log := logtest.NewMemory()
	w := writer(t, log, 0)
	var at []uint64
	for range 6 {
		p, err := w.Append([]byte("x"))
		must(t, err)
		at = append(at, p)
	}
	must(t, log.Truncate(t.Context(), "ada", at[3]))
	if got, err := transactions(log, at[3]); err != nil || len(got) != 2 {
		t.Errorf("from where the log begins: %d, %v", len(got), err)
	}
	if _, err := transactions(log, at[1]); !errors.Is(err, commitlog.ErrUnreachable) {
		t.Errorf("from before: %v", err)
	}
	if _, err := transactions(log, 0); !errors.Is(err, commitlog.ErrUnreachable) {
		t.Errorf("from the beginning: %v", err)
	}
}

// A writer that was fenced says so once, and writes nothing more.
func TestAFencedWriterIsLost(t *testing.T) {
	log := logtest.NewMemory()
	lost := 0
	w := commitlog.NewWriter(t.Context(), log, "ada", 0, t.TempDir(), func(error) { lost++ })
	_, err := w.Append([]byte("one"))
	must(t, err)
	last, err := log.Last(t.Context(), "ada")
	must(t, err)
	must(t, writer(t, log, last).Fence(t.Context()))
	for range 2 {
		if _, err := w.Append([]byte("two")); !errors.Is(err, commitlog.ErrFenced) {
			t.Errorf("it says %v", err)
		}
	}
	if got, err := transactions(log, 0); err != nil || len(got) != 2 || lost != 1 {
		t.Errorf("%d transactions, %v; lost %d times", len(got), err, lost)
	}
}

// file is a store's file for a snapshot.
type file []byte

func (f file) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(f)
	return int64(n), err
}

// A snapshot stands for the records that it holds, and those after it stay.
func TestASnapshotStandsForRecords(t *testing.T) {
	log := logtest.NewMemory()
	w := writer(t, log, 0)
	first, err := w.Append([]byte("one"))
	must(t, err)
	_, err = w.Append([]byte("two"))
	must(t, err)
	must(t, w.Rewritten(t.Context(), func(fn func(uint64, io.WriterTo) error) error { return fn(first, file("as of one")) }))
	at, r, err := log.Snapshot(t.Context(), "ada")
	must(t, err)
	b, err := io.ReadAll(r)
	must(t, err)
	got, err := transactions(log, at)
	must(t, err)
	if at != first || string(b) != "as of one" || len(got) != 2 || string(got[0].Data) != "two" {
		t.Errorf("snapshot %q at %d, then %d transactions", b, at, len(got))
	}
}

func FuzzTransactions(f *testing.F) {
	f.Add([]byte{3, 0, 0, 0, 0, 0, 0, 0, 0, 'x'}, []byte{1})
	f.Fuzz(func(t *testing.T, a, b []byte) { // it must not panic
		records := []commitlog.Record{{Position: 1, Data: a}, {Position: 2, Data: b}}
		all := func(yield func(commitlog.Record, error) bool) {
			for _, r := range records {
				if !yield(r, nil) {
					return
				}
			}
		}
		n := 0
		for range commitlog.Transactions(0, iter.Seq2[commitlog.Record, error](all)) {
			n++
		}
		if n > len(slices.Collect(slices.Values(records))) {
			t.Errorf("%d transactions of two records", n)
		}
	})
}
