package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/kenlayer/ken"
)

// Optional methods of a store beyond ken.Store. The suite tests those that a store has.
type (
	getter interface {
		Get(ctx context.Context, id string) (ken.Claim, error)
	}
	byKeyer interface {
		ByKey(ctx context.Context, key string) (ken.Claim, error)
	}
	reinforcer interface {
		Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error
	}
)

func testGet(k *kit) {
	has[getter](k, "the store has no Get")
	const first, second = "0198a000-0000-7000-8000-000000000001", "0198a000-0000-7000-8000-000000000002"
	withID := func(id string) func(*ken.Claim) { return func(c *ken.Claim) { c.ID = id } }
	k.write("payments uses sagas", withID(first))
	k.write("payments uses two-phase commit", withID(second))
	k.transition(second, ken.StatusDisputed)
	get := k.s.(getter).Get

	for _, id := range []string{first, strings.ToUpper(first), first[:35] + "1", first[2:], "000001"} {
		c, err := get(k.ctx, id)
		if err != nil || c.ID != first {
			k.Errorf("%q finds %s, %v", id, c.ID, err)
		}
	}
	if c, err := get(k.ctx, second); err != nil || c.Status != ken.StatusDisputed {
		k.Errorf("a disputed claim: %s, %v", c.Status, err)
	}
	k.wantErr(errOf(get(k.ctx, "0198a0")), ken.ErrInvalid, "id") // matches both
	for _, id := range []string{"", "00001", "sagas!", uuid.NewString()} {
		k.wantErr(errOf(get(k.ctx, id)), ken.ErrNotFound, "id")
	}
}

func testByKey(k *kit) {
	has[byKeyer](k, "the store has no ByKey")
	byKey := func(key string) (ken.Claim, error) { return k.s.(byKeyer).ByKey(k.ctx, key) }
	k.wantErr(errOf(byKey("adr-7")), ken.ErrNotFound, "key")

	id := k.write("payments uses sagas", withKey("adr-7"), func(c *ken.Claim) { c.Tags = []string{"saga"} })
	k.write("payments uses two-phase commit")
	for _, key := range []string{"", "adr", "adr-77", "ADR-7", id} {
		k.wantErr(errOf(byKey(key)), ken.ErrNotFound, "key")
	}
	c, err := byKey("adr-7")
	if err != nil || c.ID != id || c.Text != "payments uses sagas" {
		k.Fatalf("%+v, %v", c, err)
	}
	c.Tags[0], c.Evidence[0].Detail = "changed", "changed"
	if again, err := byKey("adr-7"); err != nil || again.Tags[0] != "saga" || again.Evidence[0].Detail == "changed" {
		k.Errorf("it shares memory with the store: %+v, %v", again, err)
	}

	k.write("payments uses orchestration", withKey("adr-7"))
	next := k.write("payments uses choreography", withKey("adr-8"))
	k.supersede(id, next)
	c, err = byKey("adr-7")
	if err != nil || c.ID != id || c.Text != "payments uses orchestration" || c.Status != ken.StatusSuperseded {
		k.Errorf("a superseded claim is found by its key as %+v, %v", c, err)
	}
}

func testReinforce(k *kit) {
	has[reinforcer](k, "the store has no Reinforce")
	reinforceOn := func(k *kit, id string, e ...ken.Evidence) error {
		return k.s.(reinforcer).Reinforce(k.ctx, id, e, ken.Actor{Type: "user", ID: "ada"})
	}
	reinforce := func(id string, e ...ken.Evidence) error { return reinforceOn(k, id, e...) }

	k.sub("the evidence grows and the status stays", func(k *kit) {
		id := k.write("payments uses sagas")
		k.transition(id, ken.StatusVerified)
		more := ken.FromHumanAssertion("ada", epoch, "said it again")
		k.must(reinforceOn(k, id, more))
		c := k.get(id)
		if c.Reinforcements != 1 || c.ReinforcedAt.IsZero() || c.Status != ken.StatusVerified || len(c.Evidence) != 2 {
			k.Errorf("%+v", c)
		}
		last := k.history(id)[2]
		if last.Type != ken.EventReinforced || last.Actor.ID != "ada" || !cmp.Equal(last.Evidence, []ken.Evidence{more}) {
			k.Errorf("history ends with %+v", last)
		}
		k.finds("sagas", id)
	})

	k.sub("the same evidence twice counts once", func(k *kit) {
		id := k.write("payments uses sagas")
		later := ken.FromHumanAssertion("ada", epoch, "again")
		for _, e := range []ken.Evidence{ken.FromHumanAssertion("ada", epoch.Add(-time.Hour), "once"), later} {
			k.must(reinforceOn(k, id, e))
		}
		c := k.get(id)
		if c.Reinforcements != 2 || len(c.Evidence) != 2 || !cmp.Equal(c.Evidence[1], later) {
			k.Errorf("%d reinforcements, evidence %+v", c.Reinforcements, c.Evidence)
		}
	})

	k.sub("what it brings is cleaned", func(k *kit) {
		id := k.write("payments uses sagas")
		e := ken.FromToolResult("tc", "<think>hm</think>printed "+madeUpSecrets[0])
		k.must(reinforceOn(k, id, e))
		detail := k.get(id).Evidence[1].Detail
		if strings.Contains(detail, madeUpSecrets[0]) || strings.Contains(detail, "hm") || !strings.Contains(detail, "printed") {
			k.Errorf("kept %q", detail)
		}
	})

	disputed, next := k.write("payments uses sagas"), k.write("payments uses two-phase commit")
	replaced := k.write("payments uses files")
	k.transition(disputed, ken.StatusDisputed)
	k.supersede(replaced, next)
	k.wantErr(reinforce(disputed), ken.ErrRefused, "status")
	k.wantErr(reinforce(replaced), ken.ErrRefused, "status")
	k.wantErr(reinforce(uuid.NewString()), ken.ErrNotFound, "id")
	k.wantErr(reinforce("adr-7"), ken.ErrNotFound, "id")
	k.wantErr(reinforce(next, ken.Evidence{Kind: "rumour"}), ken.ErrInvalid, "")
	if c := k.get(next); c.Reinforcements != 0 {
		k.Errorf("a refused call took effect: %+v", c)
	}
	over := ended(k.ctx)
	if err := k.s.(reinforcer).Reinforce(over, next, nil, ken.Actor{}); err == nil || k.get(next).Reinforcements != 0 {
		k.Errorf("a cancelled call took effect: %v", err)
	}
}

// rests sets a claim's evidence.
func rests(on ...ken.Evidence) func(*ken.Claim) { return func(c *ken.Claim) { c.Evidence = on } }

func (k *kit) referring(p Readable, f *ken.Filter, names ...string) []string {
	k.Helper()
	refs, err := p.Referring(k.ctx, names, f)
	if err != nil {
		k.Fatalf("referring to %q: %v", names, err)
	}
	if !slices.IsSorted(refs) {
		k.Errorf("referring to %q: not by ref: %v", names, refs)
	}
	return k.idsOf(p, refs)
}

// Referring finds a claim by its names and by its evidence, and follows its changes.
func testReferring(k *kit, p Readable) {
	first := k.write("the retry works", about("Payments-Service", "pay/retry.go"), rests(ken.FromTestResult("TestRetry", ""), ken.FromExitCode("go test ./pay", 0)))
	second := k.write("the handler is safe", about("handler"), rests(ken.FromFile("pay/retry.go", "", ""), ken.FromURL("https://example.org/a", epoch, "")))
	over := k.write("the cache is warm", about("cache"), rests(ken.FromTestResult("TestRetry", "")), func(c *ken.Claim) { c.ExpiresAt = epoch.Add(time.Hour) })
	link := k.write("payments needs the cache", about("payments service", "cache"), func(c *ken.Claim) { c.Kind = ken.KindDependency })
	for _, tt := range []struct {
		f     ken.Filter
		names []string
		want  []string
	}{
		{ken.Filter{}, []string{"payments service"}, []string{first}},
		{ken.Filter{Structural: true}, []string{"PAYMENTS_SERVICE"}, []string{first, link}},
		{ken.Filter{}, []string{"pay/retry.go"}, []string{first, second}}, // as a name, and as a reference
		{ken.Filter{}, []string{"TestRetry"}, []string{first, over}},
		{ken.Filter{Now: epoch.Add(2 * time.Hour)}, []string{"TestRetry"}, []string{first}},
		{ken.Filter{}, []string{"testretry"}, nil}, // a reference is as it is written
		{ken.Filter{}, []string{"go test ./pay", "https://example.org/a"}, []string{first, second}},
		{ken.Filter{Statuses: []ken.Status{ken.StatusDisputed}}, []string{"TestRetry"}, nil},
		{ken.Filter{}, []string{"nobody", ""}, nil},
		{ken.Filter{}, nil, nil},
	} {
		if got := k.referring(p, &tt.f, tt.names...); !slices.Equal(got, tt.want) {
			k.Errorf("referring to %q: %v, want %v", tt.names, got, tt.want)
		}
	}
	done := ended(k.ctx)
	if _, err := p.Referring(done, []string{"cache"}, &ken.Filter{}); !errors.Is(err, context.Canceled) {
		k.Errorf("a cancelled question: %v", err)
	}

	// Evidence that is added later counts, and forgotten claims are not found.
	k.must(k.s.Transition(k.ctx, ken.Transition{ID: second, To: ken.StatusVerified, Evidence: []ken.Evidence{ken.FromValidator("lint", "")}}))
	if got := k.referring(p, &ken.Filter{}, "lint"); !slices.Equal(got, []string{second}) {
		k.Errorf("referring to what was added: %v", got)
	}
	if s, ok := k.s.(forgetter); ok {
		if _, err := s.Forget(k.ctx, first, "", ken.Actor{}); err != nil {
			k.Fatal(err)
		}
		if got := k.referring(p, &ken.Filter{}, "TestRetry", "payments service"); !slices.Equal(got, []string{over}) {
			k.Errorf("after it was forgotten: %v", got)
		}
	}
}

const writers = 16

// together runs f in one goroutine per writer, started at the same time.
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
			k.finds(word, id)
			k.wantEvents(id, 1)
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
		k.wantEvents(got[0], 1)
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
		k.wantEvents(found[0], writers)
	})

	k.sub("one transition wins", func(k *kit) {
		id := k.write("payments uses sagas")
		k.wantOneWinner(func(int) error { return k.s.Transition(k.ctx, ken.Transition{ID: id, To: ken.StatusVerified}) })
		k.wantEvents(id, 2)
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

// wantOneWinner calls f concurrently: one call must succeed and the others must be
// refused.
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
	over := ended(k.ctx)
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
