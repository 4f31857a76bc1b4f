package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/kenlayer/ken"
)

const writers = 16

// together runs f in as many goroutines as there are writers, all let go at once.
func together(f func(writer int)) {
	var wg sync.WaitGroup
	gate := make(chan struct{})
	for w := range writers {
		wg.Go(func() { <-gate; f(w) })
	}
	close(gate)
	wg.Wait()
}

func testConcurrency(k *kit) {
	k.sub("every acknowledged write is found at once and kept", func(k *kit) {
		const each = 12
		words := map[string]string{} // a claim's own word, by id
		var mu sync.Mutex            // guards words
		together(func(w int) {
			for i := range each {
				word := fmt.Sprintf("xq%c%cz", 'a'+w, 'a'+i)
				id, err := k.s.WriteClaim(k.ctx, claim("writer "+word+" was here"))
				if err != nil {
					k.Errorf("write: %v", err)
					return
				}
				found, err := k.s.Query(k.ctx, ken.Query{Question: word})
				if err != nil || !slices.Contains(ids(found), id) {
					k.Errorf("%s was acknowledged and is not found (%d claims, %v)", word, len(found), err)
				}
				mu.Lock()
				words[id] = word
				mu.Unlock()
			}
		})
		if len(words) != writers*each {
			k.Fatalf("%d ids for %d writes", len(words), writers*each)
		}
		if found := k.ask("writer"); len(found) != writers*each {
			k.Errorf("%d of %d writes survive", len(found), writers*each)
		}
		for id, word := range words {
			if found := k.ask(word); !slices.Equal(found, []string{id}) {
				k.Errorf("%s finds %v, want %s", word, found, id)
			}
			if n := len(k.history(id)); n != 1 {
				k.Errorf("%s has %d events", word, n)
			}
		}
	})

	k.sub("one key is one claim", func(k *kit) {
		got := make([]string, writers)
		together(func(w int) {
			var err error
			if got[w], err = k.s.WriteClaim(k.ctx, claim("payments uses sagas", withKey("adr-7"))); err != nil {
				k.Errorf("write: %v", err)
			}
		})
		if n := len(slices.Compact(slices.Sorted(slices.Values(got)))); n != 1 {
			k.Errorf("%d claims", n)
		}
		if n := len(k.history(got[0])); n != 1 {
			k.Errorf("%d events", n)
		}
	})

	k.sub("no version of a key is lost", func(k *kit) {
		together(func(w int) {
			if _, err := k.s.WriteClaim(k.ctx, claim(fmt.Sprintf("sagas, said by %d", w), withKey("adr-7"))); err != nil {
				k.Errorf("write: %v", err)
			}
		})
		found := k.ask("sagas")
		if len(found) != 1 {
			k.Fatalf("%d claims", len(found))
		}
		if n := len(k.history(found[0])); n != writers {
			k.Errorf("%d events for %d versions", n, writers)
		}
	})

	k.sub("one transition wins", func(k *kit) {
		id := k.write("payments uses sagas")
		k.wantOneWinner(func(int) error { return k.s.Transition(k.ctx, ken.Transition{ID: id, To: ken.StatusVerified}) })
		if n := len(k.history(id)); n != 2 {
			k.Errorf("%d events", n)
		}
	})

	k.sub("one successor wins", func(k *kit) {
		old := k.write("payments uses sagas")
		next := make([]string, writers)
		for i := range next {
			next[i] = k.write(fmt.Sprintf("payments uses something else, %d", i))
		}
		k.wantOneWinner(func(w int) error { return k.s.Supersede(k.ctx, old, next[w]) })
		linked := 0
		for _, id := range next {
			if k.get(id).Supersedes == old {
				linked++
			}
		}
		if linked != 1 || k.get(old).SupersededBy == "" {
			k.Errorf("%d successors are linked", linked)
		}
	})

	k.sub("reading while writing", func(k *kit) {
		id := k.write("payments uses sagas")
		together(func(w int) {
			for i := range 8 {
				if w%4 == 0 {
					if _, err := k.s.WriteClaim(k.ctx, claim(fmt.Sprintf("sagas %d %d", w, i))); err != nil {
						k.Errorf("write: %v", err)
					}
					continue
				}
				found, err := k.s.Query(k.ctx, ken.Query{Question: "sagas", Limit: many})
				if err != nil || !slices.Contains(ids(found), id) {
					k.Errorf("a claim is not found while others are written: %v", err)
				}
				if _, err := k.s.History(k.ctx, id); err != nil {
					k.Errorf("history: %v", err)
				}
			}
		})
	})
}

// wantOneWinner races f: one call must succeed and the others be refused.
func (k *kit) wantOneWinner(f func(writer int) error) {
	k.Helper()
	errs := make([]error, writers)
	together(func(w int) { errs[w] = f(w) })
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, ken.ErrRefused) {
			k.Errorf("got %v, want ErrRefused", err)
		}
	}
	if won != 1 {
		k.Errorf("%d of %d succeeded", won, writers)
	}
}

func testCancelled(k *kit) {
	id, other := k.write("payments uses sagas"), k.write("payments uses two-phase commit")
	over, cancel := context.WithCancel(k.ctx)
	cancel()
	for name, call := range map[string]func() error{
		"WriteClaim":       func() error { _, err := k.s.WriteClaim(over, claim("too late")); return err },
		"Query":            func() error { _, err := k.s.Query(over, ken.Query{Question: "sagas"}); return err },
		"Query for newest": func() error { _, err := k.s.Query(over, ken.Query{}); return err },
		"Transition":       func() error { return k.s.Transition(over, ken.Transition{ID: id, To: ken.StatusVerified}) },
		"Supersede":        func() error { return k.s.Supersede(over, id, other) },
		"History":          func() error { _, err := k.s.History(over, id); return err },
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			k.Errorf("%s: %v, want context.Canceled", name, err)
		}
	}
	if found := k.ask(""); len(found) != 2 {
		k.Errorf("%d claims, want the two from before", len(found))
	}
	if c := k.get(id); c.Status != ken.StatusObserved || len(k.history(id)) != 1 {
		k.Errorf("a cancelled call took effect: %+v", c)
	}
}
