package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// toldAt is a note of a turn that was told three things, two of them by its block.
func toldAt(place, turn string) session.Note {
	items := []ken.Item{
		{ID: "claim-1", Kind: ken.KindFact, Text: gate},
		{ID: "claim-2", Kind: ken.KindFact, Text: "Ferries have right of way in the harbour.\nTugs do not."},
		{ID: "claim-3", Kind: ken.KindFinding, Text: "The crane was read of in a tool's result."},
	}
	b := blockAt(place, turn)
	b.Text = "[block]\n\n" + items[1].Text + "\n\n" + items[0].Text + "\n[end]"
	b.Items = append(b.Items, session.BlockItem{ID: "claim-2", Kind: ken.KindFact, Trust: ken.TrustAgent, Hash: 8, Stored: true})
	return session.Note{About: session.About{ID: "s"}, Block: b, Messages: []ken.Message{user("about " + turn)}, Injected: items}
}

func (b *bench) record(t testing.TB, n session.Note) {
	t.Helper()
	if got := b.Record(t.Context(), []session.Note{n}, nil)[0]; got.Err != nil {
		t.Fatal(got.Err)
	}
}

// injected lists the ids of what a session was told, and fails where a text is not the item's.
func (b *bench) injected(t testing.TB) string {
	t.Helper()
	var ids []string
	for _, in := range b.read(t, "s").Injected {
		ids = append(ids, in.ID)
		for _, it := range toldAt("", "").Injected {
			if it.ID == in.ID && (it.Text != in.Text || it.Kind != in.Kind) {
				t.Errorf("%s: %+v", it.ID, in)
			}
		}
		if in.At.IsZero() {
			t.Errorf("%s has no time", in.ID)
		}
	}
	return strings.Join(ids, " ")
}

// What a block says is kept once, however it is asked for, and as long as anything of the
// session is.
func TestInjectionsAreReadFromBlocks(t *testing.T) {
	j := newBench(t, session.Options{})
	j.record(t, toldAt("01", "turn 1"))
	if n := strings.Count(j.bytes(t), gate); n != 1 {
		t.Errorf("kept %d times", n)
	}
	if keys := j.keys(t, "session/injected/"); len(keys) != 1 {
		t.Errorf("kept beside the block: %q", keys)
	}
	j.record(t, toldAt("01", "turn 1")) // again, as after an error
	j.record(t, toldAt("02", "turn 2"))
	if got := j.injected(t); got != "claim-1 claim-2 claim-3" {
		t.Errorf("told %q", got)
	}
	if got := j.blocks(t, "s", "01"); len(got) != 1 || cmp.Diff(*toldAt("01", "turn 1").Block, got[0]) != "" {
		t.Errorf("the block is another one: %+v", got)
	}
	// A block in its place tells something else.
	later := toldAt("01", "turn 3")
	later.Block.At = monday.Add(time.Hour)
	later.Block.Text, later.Block.Items, later.Injected = "[block]\nnothing\n[end]", nil, nil
	j.record(t, later)
	last := toldAt("02", "turn 4")
	last.Block.At = monday.Add(time.Hour)
	last.Block.Text, last.Block.Items, last.Injected = "", nil, nil
	j.record(t, last)
	if got := j.injected(t); got != "claim-1 claim-2 claim-3" {
		t.Errorf("after other blocks: told %q", got)
	}
}

// Of a block that holds what is forgotten, what else it says was told all the same.
func TestForgettingLeavesOtherInjections(t *testing.T) {
	nothing := func(string) bool { return false }
	for name, c := range map[string]struct {
		traces session.Traces
		want   string
	}{
		"claim": {traces(nothing, "claim-1"), "claim-2 claim-3"},
		"text":  {traces(func(s string) bool { return strings.Contains(s, "Tugs") }), "claim-1 claim-3"},
		"piece": {traces(func(s string) bool { return s == gate }), "claim-2 claim-3"},
		"other": {traces(func(s string) bool { return strings.Contains(s, "crane") }), "claim-1 claim-2"},
	} {
		t.Run(name, func(t *testing.T) {
			j := newBench(t, session.Options{})
			j.record(t, toldAt("01", "turn 1"))
			holds, err := j.Holds(t.Context(), c.traces)
			if err != nil || len(holds.Injected) != 1 {
				t.Errorf("holds %+v, %v", holds, err)
			}
			for range 2 {
				if _, err := j.Expunge(context.Background(), c.traces); err != nil {
					t.Fatal(err)
				}
				if got := j.injected(t); got != c.want {
					t.Errorf("told %q, want %q", got, c.want)
				}
			}
			for _, in := range toldAt("", "").Injected {
				if !strings.Contains(c.want, in.ID) && strings.Contains(j.bytes(t), in.Text) {
					t.Errorf("%s is still there", in.ID)
				}
			}
		})
	}
}

// Blocks and injections of a program that kept all of them apart are read.
func TestInjectionsOfOlderPrograms(t *testing.T) {
	j := newBench(t, session.Options{})
	j.append(t, "s", user("hello"))
	n := toldAt("01", "turn 1")
	err := j.shelf.Update(t.Context(), func(tx store.ShelfTx) error {
		for i, it := range n.Injected[:2] {
			b, err := json.Marshal(session.Injection{ID: it.ID, Kind: it.Kind, Text: it.Text, At: monday})
			if err != nil {
				return err
			}
			if err := tx.Put(fmt.Sprintf("session/injected/s/%016x", i), b); err != nil {
				return err
			}
		}
		b, err := json.Marshal(n.Block)
		if err != nil {
			return err
		}
		return tx.Put("session/block/s/01", b)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := j.injected(t); got != "claim-1 claim-2" {
		t.Errorf("told %q", got)
	}
	if got := j.blocks(t, "s", "01"); len(got) != 1 || cmp.Diff(*n.Block, got[0]) != "" {
		t.Errorf("%+v", got)
	}
	j.record(t, toldAt("02", "turn 2"))
	if got := j.injected(t); got != "claim-1 claim-2 claim-3" {
		t.Errorf("then told %q", got)
	}
	// A block whose spans make no sense tells nothing.
	write := `{"turn":"t","at":"2026-05-18T09:00:00Z","text":"short","items":[{"id":"x","kind":"fact"}],"mode":"hybrid","told":[%s]}`
	for _, told := range []string{"[0,6]", "[-1,2]", "[9,1]", "[4,-1]", "[9223372036854775807,2]", "[1,9223372036854775807]", "[0,0],[0,2]"} {
		err := j.shelf.Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("session/block/s/03", fmt.Appendf(nil, write, told)) })
		if err != nil {
			t.Fatal(err)
		}
		if got := j.injected(t); got != "claim-1 claim-2 claim-3" {
			t.Errorf("%s: told %q", told, got)
		}
	}
}
