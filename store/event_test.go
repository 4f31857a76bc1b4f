package store_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
)

var (
	someDay = time.Date(2026, 3, 14, 9, 0, 0, 123456789, time.UTC)
	claimID = uuid.MustParse("0198a000-0000-7000-8000-000000000001")
)

// chain returns n sealed events.
func chain(n int) []*store.Event {
	var out []*store.Event
	var prev [32]byte
	for i := range n {
		ev := &store.Event{Seq: uint64(i + 1), At: someDay.Add(time.Duration(i)), Type: ken.EventTransitioned, Claim: claimID,
			Payload: []byte(`{"reason":"because"}`), Salt: [16]byte{byte(i), 1}}
		ev.Seal(prev)
		prev = ev.Hash
		out = append(out, ev)
	}
	return out
}

// verify returns the first fault of a chain.
func verify(events []*store.Event) error {
	var prev [32]byte
	for _, ev := range events {
		if err := ev.Verify(prev); err != nil {
			return err
		}
		prev = ev.Hash
	}
	return nil
}

func TestChainShowsEveryChange(t *testing.T) {
	if err := verify(chain(4)); err != nil {
		t.Fatalf("an untouched chain: %v", err)
	}
	for name, change := range map[string]func(e []*store.Event) []*store.Event{
		"payload":       func(e []*store.Event) []*store.Event { e[1].Payload = []byte(`{"reason":"other"}`); return e },
		"payload to {}": func(e []*store.Event) []*store.Event { e[1].Payload = []byte{}; return e },
		"salt":          func(e []*store.Event) []*store.Event { e[1].Salt[0]++; return e },
		"payload hash":  func(e []*store.Event) []*store.Event { e[1].PayloadHash[0]++; return e },
		"hash":          func(e []*store.Event) []*store.Event { e[1].Hash[0]++; return e },
		"number":        func(e []*store.Event) []*store.Event { e[1].Seq++; return e },
		"time":          func(e []*store.Event) []*store.Event { e[1].At = e[1].At.Add(1); return e },
		"type":          func(e []*store.Event) []*store.Event { e[1].Type = ken.EventReinforced; return e },
		"claim":         func(e []*store.Event) []*store.Event { e[1].Claim[15]++; return e },
		"first missing": func(e []*store.Event) []*store.Event { return e[1:] },
		"one missing":   func(e []*store.Event) []*store.Event { return append(e[:1:1], e[2:]...) },
		"two swapped":   func(e []*store.Event) []*store.Event { e[1], e[2] = e[2], e[1]; return e },
		"one twice":     func(e []*store.Event) []*store.Event { return append(e[:2:2], e[1:]...) },
	} {
		if verify(change(chain(4))) == nil {
			t.Errorf("%s: the change is not noticed", name)
		}
	}
}

// What was said can be erased without breaking the proof of what happened.
func TestChainHoldsAfterErasing(t *testing.T) {
	events := chain(4)
	events[1].Erase()
	if !events[1].Erased() || events[1].Salt != [16]byte{} {
		t.Errorf("left behind: %q, salt %x", events[1].Payload, events[1].Salt)
	}
	if err := verify(events); err != nil {
		t.Errorf("the chain broke: %v", err)
	}
	if p, err := events[1].Decode(); err != nil || !cmp.Equal(p, store.Payload{}) {
		t.Errorf("an erased event says %+v, %v", p, err)
	}
	// The hash left behind must not confirm a guess of the text.
	guess := *chain(4)[1]
	guess.Salt = [16]byte{}
	guess.Seal([32]byte{})
	if guess.PayloadHash == events[1].PayloadHash {
		t.Error("the payload's hash can be guessed without the salt")
	}
}

func TestEventBinaryRoundTrip(t *testing.T) {
	erased := chain(1)[0]
	erased.Erase()
	empty := chain(1)[0]
	empty.Payload = []byte{}
	for name, want := range map[string]*store.Event{
		"usual": chain(1)[0], "erased": erased, "empty payload": empty,
		"before 1970": {At: time.Date(1969, 12, 31, 0, 0, 0, 1, time.UTC), Type: "x", Payload: []byte("{}")},
	} {
		b, err := want.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		kept := bytes.Clone(b)
		got := store.Event{Seq: want.Seq}
		if err := got.UnmarshalBinary(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		clear(b) // the event must not share it
		if diff := cmp.Diff(*want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for n := range len(kept) - len(want.Payload) {
			if err := new(store.Event).UnmarshalBinary(kept[:n]); err == nil {
				t.Fatalf("%s: cut to %d of %d bytes, it reads well", name, n, len(kept))
			}
		}
		kept[0]++
		if err := new(store.Event).UnmarshalBinary(kept); err == nil {
			t.Errorf("%s: a later layout reads well", name)
		}
	}
}

func TestDecodeReportsCorruption(t *testing.T) {
	ev := store.Event{Seq: 7, Payload: []byte("{")}
	if _, err := ev.Decode(); !errors.Is(err, ken.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

func FuzzEventUnmarshalBinary(f *testing.F) {
	for _, ev := range append(chain(2), &store.Event{Type: "x"}) {
		b, err := ev.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var ev store.Event
		if ev.UnmarshalBinary(data) != nil {
			return
		}
		b, err := ev.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var again store.Event
		if err := again.UnmarshalBinary(b); err != nil || !cmp.Equal(ev, again) {
			t.Fatalf("%v (-first +again):\n%s", err, cmp.Diff(ev, again))
		}
		ev.Seal([32]byte{1})
		if err := ev.Verify([32]byte{1}); err != nil && !ev.Erased() {
			t.Fatal(err)
		}
	})
}

// far is a store that appears to be in another process.
type far struct {
	memory.Store
	asked   [][]string
	fetched []store.Ref
}

func (f *far) HasAll(ids []string) bool {
	f.asked = append(f.asked, ids)
	return len(ids) == 1
}

func (f *far) Fetch(_ context.Context, refs []store.Ref) { f.fetched = append(f.fetched, refs...) }

// A remote store gets one call for many ids; a local store gets one call for each.
func TestManyAreAskedForAtOnceWhereItPays(t *testing.T) {
	near := memory.New(memory.Options{})
	id := uuid.NewString()
	if !store.HasAll(near, nil) || store.HasAll(near, []string{id}) {
		t.Error("a store at hand is not asked")
	}
	store.Fetch(t.Context(), near, []store.Ref{1, 2})

	f := &far{Store: near}
	if !store.HasAll(f, []string{id}) || store.HasAll(f, []string{id, id}) || len(f.asked) != 2 {
		t.Errorf("it was asked for %q", f.asked)
	}
	store.Fetch(t.Context(), f, nil)
	store.Fetch(t.Context(), f, []store.Ref{1, 2})
	if !slices.Equal(f.fetched, []store.Ref{1, 2}) {
		t.Errorf("it was told of %v", f.fetched)
	}
}

func TestAWriteHasTheNameThatItWasGiven(t *testing.T) {
	id := uuid.Must(uuid.NewV7())
	if got := store.CommitOf(store.WithCommit(t.Context(), id)); got != id {
		t.Errorf("%s, want %s", got, id)
	}
	if got := store.CommitOf(t.Context()); got != uuid.Nil {
		t.Errorf("without a name it has %s", got)
	}
}

// superseder is a store that keeps the reason.
type superseder interface {
	ken.Store
	SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error
}

func TestTheHistoryKeepsWhyAClaimWasReplacedAndByWhom(t *testing.T) {
	disk, err := bolt.Open(t.Context(), t.TempDir(), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	for name, s := range map[string]superseder{"bolt": disk, "memory": memory.New(memory.Options{})} {
		t.Run(name, func(t *testing.T) {
			var ids [2]string
			for i, text := range []string{"Ana works at Google.", "Ana joined Microsoft."} {
				c, err := ken.NewClaim(text, ken.FromMessage("s", "m1", text))
				if err == nil {
					ids[i], err = s.WriteClaim(t.Context(), c)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			by := ken.Actor{Type: "system", ID: "harvest"}
			if err := s.SupersedeFor(t.Context(), ids[0], ids[1], "updates: joined", by); err != nil {
				t.Fatal(err)
			}
			events, err := s.History(t.Context(), ids[0])
			if err != nil {
				t.Fatal(err)
			}
			last := events[len(events)-1]
			if last.Type != ken.EventSuperseded || last.Reason != "updates: joined" || last.Actor != by || last.Other != ids[1] {
				t.Errorf("%+v", last)
			}
		})
	}
}
