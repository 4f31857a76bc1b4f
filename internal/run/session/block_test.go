package session_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

const gate = "The harbour gate opens at six in the morning on weekdays."

func blockAt(place, turn string) *session.Block {
	return &session.Block{Place: place, Turn: turn, At: monday, Text: "[block]\n" + gate + "\n", Mode: ken.ModeHybrid,
		Items: []session.BlockItem{{ID: "claim-1", Kind: ken.KindFact, Trust: ken.TrustAgent, Hash: 7, Stored: true}}}
}

// note journals a turn that was given a block.
func (b *bench) note(t testing.TB, id string, block *session.Block, text string) session.Noted {
	t.Helper()
	n := session.Note{About: session.About{ID: id}, Block: block, Messages: []ken.Message{{Role: "user", Text: "about " + block.Turn}},
		Injected: []ken.Item{{ID: "claim-1", Kind: ken.KindFact, Text: text}}}
	got := b.Record(t.Context(), []session.Note{n}, nil)[0]
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	return got
}

func (b *bench) blocks(t testing.TB, id string, places ...string) []session.Block {
	t.Helper()
	got, err := b.Blocks(t.Context(), id, places)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(x, y session.Block) int { return strings.Compare(x.Place, y.Place) })
	return got
}

// The first block at a place stands; who comes later is told.
func TestTheFirstBlockAtAPlaceStands(t *testing.T) {
	j := newBench(t, session.Options{})
	var places []string
	for i := range 20 {
		places = append(places, fmt.Sprintf("%02x", i))
		if n := j.note(t, "s", blockAt(places[i], fmt.Sprint("turn ", i)), gate); n.Standing != nil {
			t.Errorf("something stands at %s already: %+v", places[i], n.Standing)
		}
	}
	second := blockAt("03", "another turn")
	second.Text = "other bytes"
	if n := j.note(t, "s", second, gate); n.Standing == nil || n.Standing.Turn != "turn 3" || n.Standing.Place != "03" {
		t.Errorf("the second is told of %+v", n.Standing)
	}
	if n := j.note(t, "s", blockAt("04", "turn 4"), gate); n.Standing != nil {
		t.Errorf("a turn's own block is told of as another's: %+v", n.Standing)
	}
	if got := j.blocks(t, "s", "03", "nowhere"); cmp.Diff([]session.Block{*blockAt("03", "turn 3")}, got) != "" {
		t.Errorf("one by one: %+v", got)
	}
	if got := j.blocks(t, "s", places...); len(got) != 20 || cmp.Diff(*blockAt("13", "turn 19"), got[19]) != "" {
		t.Errorf("all at once: %d, %+v", len(got), got)
	}
	if got := j.blocks(t, "other", places...); len(got) != 0 {
		t.Errorf("another session has %+v", got)
	}
}

// Five minutes later, and at once where the turn was given none, the same words are a new
// question.
func TestABlockStandsForARetry(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		text  string
		want  string
	}{{time.Minute, "[block] one", "turn 1"}, {time.Minute, "", "turn 2"}, {6 * time.Minute, "[block] one", "turn 2"},
		{-48 * time.Hour, "[block] one", "turn 2"}} /* by a clock that is two days behind */ {
		j := newBench(t, session.Options{})
		one, two := blockAt("01", "turn 1"), blockAt("01", "turn 2")
		one.Text, two.At = c.text, one.At.Add(c.after)
		j.note(t, "s", one, gate)
		j.note(t, "s", two, gate)
		if got := j.blocks(t, "s", "01"); len(got) != 1 || got[0].Turn != c.want {
			t.Errorf("%s after %q: %+v", c.after, c.text, got)
		}
	}
}

// A block goes with what it tells, with its session's messages, and with the session.
func TestBlocksGo(t *testing.T) {
	for name, gone := range map[string]func(j *bench) error{
		"claim": func(j *bench) error {
			_, err := j.Expunge(context.Background(), traces(func(string) bool { return false }, "claim-1"))
			return err
		},
		"text": func(j *bench) error {
			_, err := j.Expunge(context.Background(), traces(func(s string) bool { return strings.Contains(s, gate) }))
			return err
		},
		"session": func(j *bench) error { return j.Forget(context.Background(), "s") },
	} {
		t.Run(name, func(t *testing.T) {
			j := newBench(t, session.Options{})
			j.note(t, "s", blockAt("01", "turn 1"), gate)
			if err := gone(j); err != nil {
				t.Fatal(err)
			}
			if got := j.blocks(t, "s", "01"); len(got) != 0 {
				t.Errorf("left: %+v", got)
			}
		})
	}
}

func traces(text func(string) bool, claims ...string) session.Traces {
	return session.Traces{Message: func(string, *session.Entry) bool { return false }, Text: text, Claims: claims}
}

// What was forgotten comes back in no block that was composed before.
func TestTheShelfRefusesABlockOfWhatWasForgotten(t *testing.T) {
	j := newBench(t, session.Options{})
	err := j.shelf.Update(t.Context(), func(tx store.ShelfTx) error { return forgotten.Mark(tx, "claim-1") })
	if err != nil {
		t.Fatal(err)
	}
	j.note(t, "s", blockAt("01", "turn 1"), gate)
	if got := j.blocks(t, "s", "01"); len(got) != 0 {
		t.Errorf("it is back: %+v", got)
	}
}

// A block with a secret in it is not kept.
func TestABlockWithASecretIsNotKept(t *testing.T) {
	j := newBench(t, session.Options{})
	j.note(t, "s", blockAt("01", "turn 1"), "The key is AKIA"+"Q3EGRIU7MLZ2XWNP, for the harbour.")
	j.note(t, "s", blockAt("02", "turn 2"), "Our parser strips <think> tags before it saves.\n")
	if got := j.blocks(t, "s", "01", "02"); len(got) != 1 || got[0].Place != "02" {
		t.Errorf("kept: %+v", got)
	}
}
