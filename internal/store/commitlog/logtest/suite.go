package logtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken/internal/store/commitlog"
)

// Run tests a log. open returns two logs with the same data, and closes them when the test ends. The
// data must be empty, or have nothing of the owners in this file.
func Run(t *testing.T, open func(t *testing.T) (log, again commitlog.Log)) {
	for name, test := range map[string]func(t *testing.T, k *kit){
		"RecordsFollow":     recordsFollow,
		"WritersAreFenced":  writersAreFenced,
		"OneOfManyWins":     oneOfManyWins,
		"Truncate":          truncate,
		"Snapshots":         snapshots,
		"LargeSnapshot":     largeSnapshot,
		"Leases":            leases,
		"Nodes":             nodes,
		"OwnersAreApart":    ownersAreApart,
		"AContextThatEnded": ended,
	} {
		t.Run(name, func(t *testing.T) {
			log, again := open(t)
			test(t, &kit{t, log, again, t.Context()})
		})
	}
}

// kit holds the input of each test of the suite: a log, another log with the same data, and a context.
type kit struct {
	t          *testing.T
	log, again commitlog.Log
	ctx        context.Context
}

func (k *kit) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *kit) append(owner string, after uint64, data string) uint64 {
	k.t.Helper()
	at, err := k.log.Append(k.ctx, owner, after, []byte(data))
	k.must(err)
	if at <= after {
		k.t.Fatalf("a record behind %d has position %d", after, at)
	}
	return at
}

func (k *kit) read(log commitlog.Log, owner string, after uint64) (out []string) {
	k.t.Helper()
	for r, err := range log.Read(k.ctx, owner, after) {
		k.must(err)
		if r.Position <= after {
			k.t.Errorf("a record behind %d has position %d", after, r.Position)
		}
		after = r.Position
		out = append(out, string(r.Data))
	}
	return out
}

func (k *kit) equal(what string, got, want any) {
	k.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		k.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Names of owners. That of other has characters which have a meaning in an engine.
const (
	ada   = "ada"
	other = "a/da.*>: $日本 "
)

func recordsFollow(t *testing.T, k *kit) {
	k.equal("an empty log", k.read(k.log, ada, 0), []string(nil))
	last, err := k.log.Last(k.ctx, ada)
	k.must(err)
	k.equal("its last position", last, 0)
	first := k.append(ada, 0, "one")
	second := k.append(ada, first, "\x00two\xff")
	third := k.append(ada, second, strings.Repeat("x", commitlog.MaxRecord))
	last, err = k.again.Last(k.ctx, ada)
	k.must(err)
	k.equal("the last position", last, third)
	k.equal("what follows the first", len(k.read(k.again, ada, first)), 2)
	all := k.read(k.again, ada, 0)
	if len(all) != 3 || all[0] != "one" || all[1] != "\x00two\xff" || len(all[2]) != commitlog.MaxRecord {
		t.Errorf("it reads %d records: %.20q", len(all), all)
	}
	for range k.log.Read(k.ctx, ada, 0) {
		break // a reader that stops early must leave nothing open
	}
}

func writersAreFenced(t *testing.T, k *kit) {
	first := k.append(ada, 0, "one")
	second := k.append(ada, first, "two")
	for _, after := range []uint64{0, first, second + 1} {
		if _, err := k.again.Append(k.ctx, ada, after, []byte("late")); !errors.Is(err, commitlog.ErrFenced) {
			t.Errorf("behind %d: %v", after, err)
		}
	}
	if _, err := k.log.Append(k.ctx, other, first, []byte("late")); !errors.Is(err, commitlog.ErrFenced) {
		t.Errorf("behind a record that is another owner's: %v", err)
	}
	k.equal("the log", k.read(k.log, ada, 0), []string{"one", "two"})
}

// oneOfManyWins lets several writers append at the same position. Only one of them may succeed.
func oneOfManyWins(t *testing.T, k *kit) {
	const rounds, writers = 12, 6
	at := uint64(0)
	for round := range rounds {
		var wg sync.WaitGroup
		wins := make(chan uint64, writers)
		for w := range writers {
			wg.Go(func() {
				log := []commitlog.Log{k.log, k.again}[w%2]
				switch p, err := log.Append(k.ctx, ada, at, fmt.Appendf(nil, "%d", round)); {
				case err == nil:
					wins <- p
				case !errors.Is(err, commitlog.ErrFenced):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(wins) != 1 {
			t.Fatalf("round %d: %d writers won", round, len(wins))
		}
		at = <-wins
	}
	k.equal("records", len(k.read(k.log, ada, 0)), rounds)
}

func truncate(t *testing.T, k *kit) {
	var at []uint64
	last := uint64(0)
	for i := range 40 {
		last = k.append(ada, last, fmt.Sprint(i))
		at = append(at, last)
	}
	k.append(other, 0, "another's")
	k.must(k.log.Truncate(k.ctx, ada, at[29]))
	got := k.read(k.again, ada, 0)
	if len(got) != 10 || got[0] != "30" {
		t.Errorf("left are %q", got)
	}
	k.must(k.log.Truncate(k.ctx, ada, last))
	k.equal("the last one stays", k.read(k.again, ada, 0), []string{"39"})
	k.must(k.log.Truncate(k.ctx, ada, last))
	k.append(ada, last, "40")
	k.equal("behind it", k.read(k.again, ada, last), []string{"40"})
	k.equal("another's", k.read(k.again, other, 0), []string{"another's"})
}

func (k *kit) snapshot(owner string) (uint64, string) {
	k.t.Helper()
	at, r, err := k.again.Snapshot(k.ctx, owner)
	k.must(err)
	if r == nil {
		return at, ""
	}
	b, err := io.ReadAll(r)
	k.must(errors.Join(err, r.Close()))
	return at, string(b)
}

func snapshots(t *testing.T, k *kit) {
	at, text := k.snapshot(ada)
	k.equal("none", fmt.Sprint(at, text), "0")
	k.must(k.log.PutSnapshot(k.ctx, ada, 7, strings.NewReader("seven")))
	k.must(k.log.PutSnapshot(k.ctx, ada, 9, strings.NewReader("nine")))
	k.must(k.log.PutSnapshot(k.ctx, ada, 8, strings.NewReader("a node that was paused")))
	at, text = k.snapshot(ada)
	k.equal("the latest", fmt.Sprint(at, text), "9nine")
	k.must(k.log.PutSnapshot(k.ctx, ada, 9, strings.NewReader("nine again")))
	at, text = k.snapshot(ada)
	k.equal("at the same position", fmt.Sprint(at, text), "9nine again")
	broken := errors.New("the disk is gone")
	if err := k.log.PutSnapshot(k.ctx, ada, 10, io.MultiReader(strings.NewReader("ten"), &brokenReader{broken})); err == nil {
		t.Error("half a snapshot is one")
	}
	at, text = k.snapshot(ada)
	k.equal("after half a one", fmt.Sprint(at, text), "9nine again")
	at, text = k.snapshot(other)
	k.equal("another's", fmt.Sprint(at, text), "0")
}

type brokenReader struct{ err error }

func (r *brokenReader) Read([]byte) (int, error) { return 0, r.err }

func largeSnapshot(t *testing.T, k *kit) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 300_000) // 4.8 MB
	k.must(k.log.PutSnapshot(k.ctx, other, 3, bytes.NewReader(large)))
	at, text := k.snapshot(other)
	if at != 3 || text != string(large) {
		t.Errorf("%d bytes came back of %d", len(text), len(large))
	}
}

func leases(t *testing.T, k *kit) {
	l, err := k.log.Lease(k.ctx, ada)
	k.must(err)
	k.equal("none", l, commitlog.Lease{})
	mine, err := k.log.SetLease(k.ctx, ada, commitlog.Lease{Node: "n1", Address: "10.0.0.1:7000", Token: "t"})
	k.must(err)
	got, err := k.again.Lease(k.ctx, ada)
	k.must(err)
	k.equal("it", got, mine)
	for _, stale := range []uint64{0, mine.Revision + 1} {
		if _, err := k.again.SetLease(k.ctx, ada, commitlog.Lease{Node: "n2", Revision: stale}); !errors.Is(err, commitlog.ErrFenced) {
			t.Errorf("over revision %d: %v", stale, err)
		}
	}
	next := mine
	next.Node = "n2"
	next, err = k.again.SetLease(k.ctx, ada, next)
	k.must(err)
	if _, err := k.log.SetLease(k.ctx, ada, mine); !errors.Is(err, commitlog.ErrFenced) {
		t.Errorf("the first one comes back: %v", err)
	}
	next.Node, next.Address = "", ""
	_, err = k.again.SetLease(k.ctx, ada, next)
	k.must(err)
	if l, err = k.log.Lease(k.ctx, ada); err != nil || l.Node != "" {
		t.Errorf("given back it is %+v, %v", l, err)
	}
	if l, err = k.log.Lease(k.ctx, other); err != nil || l != (commitlog.Lease{}) {
		t.Errorf("another's is %+v, %v", l, err)
	}
}

func nodes(t *testing.T, k *kit) {
	n, err := k.log.Node(k.ctx, "n1")
	k.must(err)
	k.equal("a node that said nothing", n, commitlog.Node{})
	last := uint64(0)
	for range 3 {
		k.must(k.log.Beat(k.ctx, commitlog.Node{ID: "n1", Address: "10.0.0.1:7000", Version: "1.2"}))
		n, err := k.again.Node(k.ctx, "n1")
		k.must(err)
		if n.Beats <= last || n.Address != "10.0.0.1:7000" || n.Version != "1.2" {
			t.Errorf("it says %+v", n)
		}
		last = n.Beats
	}
	k.must(k.log.Beat(k.ctx, commitlog.Node{ID: "n2"}))
	all, err := k.again.Nodes(k.ctx)
	k.must(err)
	var ids []string
	for _, n := range all {
		ids = append(ids, n.ID)
	}
	slices.Sort(ids)
	k.equal("nodes", ids, []string{"n1", "n2"})
	k.must(k.log.Leave(k.ctx, "n1"))
	k.must(k.log.Leave(k.ctx, "n1"))
	n, err = k.again.Node(k.ctx, "n1")
	k.must(err)
	k.equal("a node that left", n, commitlog.Node{})
	all, err = k.again.Nodes(k.ctx)
	k.must(err)
	k.equal("nodes that are left", len(all), 1)
}

func ownersAreApart(t *testing.T, k *kit) {
	names := []string{ada, other, "ADA", "ada.", "ada.b"}
	for _, name := range names {
		k.append(name, 0, "of "+name)
	}
	for _, name := range names {
		k.equal(name, k.read(k.again, name, 0), []string{"of " + name})
	}
	got, err := k.again.Owners(k.ctx)
	k.must(err)
	slices.Sort(got)
	slices.Sort(names)
	k.equal("owners", got, names)
	text, err := k.log.Health(k.ctx)
	k.must(err)
	if text == "" {
		t.Error("it says nothing of its health")
	}
}

func ended(t *testing.T, k *kit) {
	ctx, cancel := context.WithCancel(k.ctx)
	cancel()
	if _, err := k.log.Append(ctx, ada, 0, []byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v", err)
	}
	if _, err := k.log.Lease(ctx, ada); !errors.Is(err, context.Canceled) {
		t.Errorf("lease: %v", err)
	}
	for _, err := range k.log.Read(ctx, ada, 0) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("read: %v", err)
		}
	}
}
