package commitlog_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
)

func writer(t *testing.T, log commitlog.Log, after commitlog.Mark) *commitlog.Writer {
	return commitlog.NewWriter(t.Context(), log, "ada", after, t.TempDir(), commitlog.Current, func(error) {})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func transactions(log commitlog.Log, after commitlog.Mark) (out []commitlog.Transaction, end commitlog.Mark, err error) {
	for tx, err := range commitlog.Transactions(context.Background(), log, "ada", after, commitlog.Current, false, &end) {
		if err != nil {
			return out, end, err
		}
		out = append(out, tx)
	}
	return out, end, nil
}

// start is the mark before the first record.
var start commitlog.Mark

// TestTransactionsAreWhole checks that a transaction larger than a record is returned whole, and that
// an incomplete one of a node that ended is not returned.
func TestTransactionsAreWhole(t *testing.T) {
	log := logtest.NewMemory()
	w := writer(t, log, start)
	large := bytes.Repeat([]byte("0123456789"), commitlog.MaxRecord/4)
	for _, data := range [][]byte{[]byte("one"), large, []byte("three")} {
		_, err := w.Append(data)
		must(t, err)
	}
	// Another node appends a transaction of two parts, and ends after the first one.
	all, end, err := transactions(log, start)
	must(t, err)
	cut := &cutOff{Memory: log, left: 1}
	if _, err := writer(t, cut, end).Append(large); err == nil {
		t.Fatal("the second part was appended")
	}
	_, end, err = transactions(log, all[2].Mark)
	must(t, err)
	w = writer(t, log, end)
	must(t, w.Fence())
	_, err = w.Append([]byte("four"))
	must(t, err)
	got, _, err := transactions(log, start)
	must(t, err)
	want := []string{"one", string(large), "three", "", "four"}
	for i, tx := range got {
		if i >= len(want) || string(tx.Changes) != want[i] {
			t.Errorf("transaction %d has %d bytes", i, len(tx.Changes))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d transactions, want %d", len(got), len(want))
	}
	for i, tx := range got { // from each mark, the later transactions are read
		if rest, _, err := transactions(log, tx.Mark); err != nil || len(rest) != len(got)-i-1 {
			t.Errorf("behind transaction %d: %d, %v", i, len(rest), err)
		}
	}
}

// cutOff is a log that becomes unreachable after some appends.
type cutOff struct {
	*logtest.Memory
	left int
}

func (c *cutOff) Append(ctx context.Context, owner string, after uint64, data []byte) (uint64, error) {
	if c.left--; c.left < 0 {
		return 0, commitlog.ErrUnreachable
	}
	return c.Memory.Append(ctx, owner, after, data)
}

// TestAGapIsNoticed checks that a missing record is detected. It is missing if a reader starts from a
// snapshot that is older than the first record of the log.
func TestAGapIsNoticed(t *testing.T) {
	log := logtest.NewMemory()
	w := writer(t, log, start)
	var at []commitlog.Mark
	for range 6 {
		m, err := w.Append([]byte("x"))
		must(t, err)
		at = append(at, m)
	}
	must(t, log.Truncate(t.Context(), "ada", at[3].Position))
	if got, _, err := transactions(log, at[3]); err != nil || len(got) != 2 {
		t.Errorf("from where the log begins: %d, %v", len(got), err)
	}
	if _, _, err := transactions(log, at[1]); !errors.Is(err, commitlog.ErrUnreachable) {
		t.Errorf("from before: %v", err)
	}
	if _, _, err := transactions(log, start); !errors.Is(err, commitlog.ErrUnreachable) {
		t.Errorf("from the beginning: %v", err)
	}
}

// TestAnotherLogIsNoticed checks that another log with the same positions is detected, from every mark.
func TestAnotherLogIsNoticed(t *testing.T) {
	var marks [2][]commitlog.Mark
	var logs [2]*logtest.Memory
	for i := range logs {
		logs[i] = logtest.NewMemory()
		w := writer(t, logs[i], start)
		for range 4 {
			m, err := w.Append([]byte("x"))
			must(t, err)
			marks[i] = append(marks[i], m)
		}
	}
	for i, m := range marks[0] {
		if _, _, err := transactions(logs[1], m); !errors.Is(err, commitlog.ErrOtherLog) {
			t.Errorf("from mark %d: %v", i, err)
		}
		must(t, logs[1].Truncate(t.Context(), "ada", m.Position)) // the record itself may be gone
		if i < 3 {
			if _, _, err := transactions(logs[1], m); !errors.Is(err, commitlog.ErrOtherLog) {
				t.Errorf("from mark %d, which is gone: %v", i, err)
			}
		}
	}
}

// TestAFencedWriterIsLost checks that a fenced writer reports it once, and writes nothing more.
func TestAFencedWriterIsLost(t *testing.T) {
	log := logtest.NewMemory()
	lost := 0
	w := commitlog.NewWriter(t.Context(), log, "ada", start, t.TempDir(), commitlog.Current, func(error) { lost++ })
	m, err := w.Append([]byte("one"))
	must(t, err)
	must(t, writer(t, log, m).Fence())
	for range 2 {
		if _, err := w.Append([]byte("two")); !errors.Is(err, commitlog.ErrFenced) {
			t.Errorf("it says %v", err)
		}
	}
	if got, _, err := transactions(log, start); err != nil || len(got) != 2 || lost != 1 {
		t.Errorf("%d transactions, %v; lost %d times", len(got), err, lost)
	}
}

// file is a store's file for a snapshot.
type file []byte

func (f file) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(f)
	return int64(n), err
}

// TestASnapshotStandsForRecords checks that a snapshot replaces the records before it, and that later
// records stay.
func TestASnapshotStandsForRecords(t *testing.T) {
	log := logtest.NewMemory()
	w := writer(t, log, start)
	first, err := w.Append([]byte("one"))
	must(t, err)
	_, err = w.Append([]byte("two"))
	must(t, err)
	must(t, w.Rewritten(t.Context(), func(fn func(uint64, io.WriterTo) error) error { return fn(first.Position, file("as of one")) }))
	at, r, err := log.Snapshot(t.Context(), "ada")
	must(t, err)
	b, err := io.ReadAll(r)
	must(t, err)
	got, _, err := transactions(log, first)
	must(t, err)
	if at != first.Position || string(b) != "as of one" || len(got) != 2 || string(got[0].Changes) != "two" {
		t.Errorf("snapshot %q at %d, then %d transactions", b, at, len(got))
	}
}

// TestALogBehindAnAdoptedStore checks that a log can begin after the mark Adopted.
func TestALogBehindAnAdoptedStore(t *testing.T) {
	log := logtest.NewMemory()
	w := writer(t, log, commitlog.Adopted)
	must(t, w.Fence())
	_, err := w.Append([]byte("one"))
	must(t, err)
	got, end, err := transactions(log, commitlog.Adopted)
	if err != nil || len(got) != 2 || end != got[1].Mark {
		t.Errorf("%d transactions up to %v, %v", len(got), end, err)
	}
}

// TestARecordOfALaterVersion checks that a record of a later format is refused, after the records
// before it are read.
func TestARecordOfALaterVersion(t *testing.T) {
	log := logtest.NewMemory()
	w := writer(t, log, start)
	_, err := w.Append([]byte("one"))
	must(t, err)
	_, end, err := transactions(log, start)
	must(t, err)
	later := commitlog.NewWriter(t.Context(), log, "ada", end, t.TempDir(), commitlog.Current+1, func(error) {})
	_, err = later.Append([]byte("two"))
	must(t, err)
	if all, _, err := transactions(log, start); !errors.Is(err, commitlog.ErrLater) || len(all) != 1 {
		t.Errorf("%d transactions, %v", len(all), err)
	}
	n := 0
	for _, err := range commitlog.Transactions(t.Context(), log, "ada", start, commitlog.Current+1, false, &end) {
		must(t, err)
		n++
	}
	if n != 2 {
		t.Errorf("the later version reads %d transactions", n)
	}
}

// TestABase checks that a reader can't read past a record of Base without its snapshot.
func TestABase(t *testing.T) {
	log := logtest.NewMemory()
	w := writer(t, log, start)
	_, err := w.Append([]byte("one"))
	must(t, err)
	base, err := w.Base()
	must(t, err)
	_, err = w.Append([]byte("two"))
	must(t, err)
	if all, _, err := transactions(log, start); !errors.Is(err, commitlog.ErrBase) || len(all) != 1 {
		t.Errorf("from the start: %d transactions, %v", len(all), err)
	}
	if all, _, err := transactions(log, base); err != nil || len(all) != 1 || string(all[0].Changes) != "two" {
		t.Errorf("from the snapshot: %d transactions, %v", len(all), err)
	}
	var end commitlog.Mark
	n := 0
	for _, err := range commitlog.Transactions(t.Context(), log, "ada", start, commitlog.Current, true, &end) {
		must(t, err)
		n++
	}
	if n != 3 {
		t.Errorf("who makes another one reads %d transactions", n)
	}
}

func FuzzTransactions(f *testing.F) {
	f.Add(append([]byte{3}, make([]byte, 24)...), []byte{1})
	f.Fuzz(func(t *testing.T, a, b []byte) { // it must not panic
		log := logtest.NewMemory()
		at := uint64(0)
		for _, data := range [][]byte{a, b} {
			var err error
			at, err = log.Append(t.Context(), "ada", at, data)
			must(t, err)
		}
		if got, _, _ := transactions(log, start); len(got) > 2 {
			t.Errorf("%d transactions of two records", len(got))
		}
	})
}

// TestALogHasAllOfACopy checks that Has finds all data of a copy, in records or in a snapshot.
func TestALogHasAllOfACopy(t *testing.T) {
	log := logtest.NewMemory()
	w := writer(t, log, start)
	var marks []commitlog.Mark
	for range 4 {
		m, err := w.Append([]byte("some"))
		must(t, err)
		marks = append(marks, m)
	}
	must(t, log.PutSnapshot(t.Context(), "ada", marks[1].Position, bytes.NewReader(nil)))
	must(t, log.Truncate(t.Context(), "ada", marks[1].Position))
	other := marks[2]
	other.ID++
	for _, c := range []struct {
		name string
		at   commitlog.Mark
		want bool
	}{
		{"the last record", marks[3], true},
		{"a record", marks[2], true},
		{"the record before the first one", marks[1], true},
		{"a record that a snapshot stands for", marks[0], true},
		{"a record of another log", other, false},
		{"a record behind the last one", commitlog.Mark{Position: marks[3].Position + 1, ID: 1}, false},
	} {
		if has, err := commitlog.Has(t.Context(), log, "ada", c.at); has != c.want || err != nil {
			t.Errorf("%s: %v, %v", c.name, has, err)
		}
	}
	if has, err := commitlog.Has(t.Context(), logtest.NewMemory(), "ada", commitlog.Adopted); has || err != nil {
		t.Errorf("an empty log: %v, %v", has, err)
	}
	away := log.Join()
	away.Cut(commitlog.ErrUnreachable)
	if has, err := commitlog.Has(t.Context(), away, "ada", marks[3]); has || !errors.Is(err, commitlog.ErrUnreachable) {
		t.Errorf("a log that is away: %v, %v", has, err)
	}
}
