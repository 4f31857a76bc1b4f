package store_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
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
