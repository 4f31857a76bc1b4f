package attention_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
)

var epoch = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

// stores are the implementations of Source.
var stores = map[string]func(t *testing.T, now func() time.Time) source{
	"memory": func(_ *testing.T, now func() time.Time) source { return memory.New(memory.Options{Now: now}) },
	"bolt": func(t *testing.T, now func() time.Time) source {
		s, err := bolt.Open(t.Context(), t.TempDir(), bolt.Options{Now: now, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	},
}

type source interface {
	ken.Store
	attention.Source
	Archive(ctx context.Context, id, reason string, actor ken.Actor) error
	Shelf() store.Shelf
}

// kit is a store with a clock that the test sets. The store reads it in the background, too.
type kit struct {
	*testing.T
	source
	clock atomic.Int64 // Unix nanoseconds
}

func (k *kit) now() time.Time          { return time.Unix(0, k.clock.Load()).UTC() }
func (k *kit) set(at time.Time)        { k.clock.Store(at.UnixNano()) }
func (k *kit) advance(d time.Duration) { k.clock.Add(int64(d)) }

func each(t *testing.T, run func(k *kit)) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			k := &kit{T: t}
			k.set(epoch)
			k.source = open(t, func() time.Time { k.advance(time.Millisecond); return k.now() })
			run(k)
		})
	}
}

func (k *kit) write(text string, change ...func(*ken.Claim)) string {
	k.Helper()
	c := ken.Claim{Text: text, Kind: ken.KindFact, Confidence: 0.9, Importance: 0.5, Evidence: []ken.Evidence{ken.FromArtifact("test", "")}}
	for _, f := range change {
		f(&c)
	}
	id, err := k.WriteClaim(k.Context(), c)
	if err != nil {
		k.Fatal(err)
	}
	return id
}

func (k *kit) move(id string, to ken.Status, reason string) {
	k.Helper()
	if err := k.Transition(k.Context(), ken.Transition{ID: id, To: to, Reason: reason}); err != nil {
		k.Fatal(err)
	}
}

func (k *kit) supersede(old, next string) {
	k.Helper()
	if err := k.Supersede(k.Context(), old, next); err != nil {
		k.Fatal(err)
	}
}

func (k *kit) list(o ...attention.Options) []attention.Item {
	k.Helper()
	opt := attention.Options{Now: k.now()}
	if len(o) > 0 {
		opt = o[0]
	}
	items, err := attention.List(k.Context(), k.source, k.Shelf(), opt)
	if err != nil {
		k.Fatal(err)
	}
	return items
}

// events are the queue's, in its order.
func (k *kit) events() string {
	k.Helper()
	var out []string
	for _, i := range k.list() {
		out = append(out, string(i.Event))
	}
	return strings.Join(out, " ")
}

func sure(p float64) func(*ken.Claim)       { return func(c *ken.Claim) { c.Confidence = p } }
func is(s ken.Status) func(*ken.Claim)      { return func(c *ken.Claim) { c.Status = s } }
func ofKind(kind ken.Kind) func(*ken.Claim) { return func(c *ken.Claim) { c.Kind = kind } }

func TestVerifiedClaimThatIsDisputed(t *testing.T) {
	each(t, func(k *kit) {
		id := k.write("The sagas time out after 5 s.", is(ken.StatusVerified))
		k.move(id, ken.StatusDisputed, "it was 9 s in the trace")
		items := k.list()
		if len(items) != 1 {
			k.Fatalf("got %+v", items)
		}
		i := items[0]
		if i.Event != attention.Disputed || i.Severity != attention.Warning || i.Action != "Review conflicting evidence" ||
			!slices.Equal(i.Claims, []string{id}) || !strings.Contains(i.Text, "5 s") || !strings.Contains(i.Text, "9 s in the trace") ||
			!slices.Contains(i.Commands, "ken verify "+id) || i.At.Before(epoch) {
			k.Errorf("got %+v", i)
		}
		k.move(id, ken.StatusVerified, "")
		if got := k.events(); got != "" {
			k.Errorf("settled, and still there: %s", got)
		}
	})
}

// What was never held for certain, such as a candidate that somebody turned down,
// needs no second look.
func TestDisputedClaimThatWasNotVerified(t *testing.T) {
	each(t, func(k *kit) {
		k.move(k.write("make test succeeds", is(ken.StatusHypothesis), ofKind(ken.KindPattern)), ken.StatusDisputed, "rejected")
		k.write("came in disputed", is(ken.StatusDisputed))
		again := k.write("was verified long ago", is(ken.StatusVerified))
		k.move(again, ken.StatusDisputed, "")
		k.move(again, ken.StatusVerified, "")
		if got := k.events(); got != "" {
			k.Errorf("got %s", got)
		}
	})
}

func TestClaimsThatContradictEachOther(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.write("The port is 8080."), k.write("The port is 9090.", is(ken.StatusVerified))
		k.move(a, ken.StatusDisputed, attention.ContradictionReason(b, "8080 and 9090"))
		k.move(b, ken.StatusDisputed, attention.ContradictionReason(a, "8080 and 9090"))
		items := k.list()
		if len(items) != 1 {
			k.Fatalf("one pair is %d items: %+v", len(items), items)
		}
		i := items[0]
		if i.Event != attention.Contradicts || i.Severity != attention.Warning || !slices.Equal(i.Claims, []string{a, b}) ||
			!strings.Contains(i.Text, "8080 and 9090") || i.Commands[0] != "ken supersede "+a+" "+b {
			k.Errorf("got %+v", i)
		}
		k.supersede(a, b)
		if got := k.events(); got != "disputed" { // b was verified once, and nobody has said that it holds
			k.Errorf("one superseded: %q", got)
		}
		k.move(b, ken.StatusVerified, "")
		if got := k.events(); got != "" {
			k.Errorf("settled: %q", got)
		}
	})
}

func TestContradictionWithAClaimThatIsGone(t *testing.T) {
	each(t, func(k *kit) {
		a := k.write("The port is 8080.")
		k.move(a, ken.StatusDisputed, attention.ContradictionReason("01990000-0000-7000-8000-000000000000", ""))
		b := k.write("The port is 8081.", is(ken.StatusVerified))
		k.move(b, ken.StatusDisputed, "contradicts what I know")
		if got := k.events(); got != "disputed" {
			k.Errorf("got %q", got)
		}
	})
}

func TestClaimSupersededByALessCertainOne(t *testing.T) {
	each(t, func(k *kit) {
		old, next := k.write("The port is 8080."), k.write("The port may be 9090.", sure(0.6))
		k.supersede(old, next)
		better := k.write("It runs in us-east-1.", sure(0.5))
		k.supersede(better, k.write("It runs in us-west-2.", sure(0.5)))
		items := k.list()
		if len(items) != 1 {
			k.Fatalf("got %+v", items)
		}
		i := items[0]
		if i.Event != attention.Superseded || i.Severity != attention.Warning || i.Action != "Review supersession" ||
			!slices.Equal(i.Claims, []string{old, next}) || !strings.Contains(i.Text, "90 %") || !strings.Contains(i.Text, "60 %") {
			k.Errorf("got %+v", i)
		}
		k.move(next, ken.StatusVerified, "")
		if got := k.events(); got != "" {
			k.Errorf("the new one is verified: %s", got)
		}
	})
}

// The queue does not fill up with what was settled by time.
func TestArchivedAndExpiredClaimsAreNotListed(t *testing.T) {
	each(t, func(k *kit) {
		old := k.write("The port is 8080.")
		k.supersede(old, k.write("The port may be 9090.", sure(0.6)))
		if err := k.Archive(k.Context(), old, "", ken.Actor{}); err != nil {
			k.Fatal(err)
		}
		k.write("The freeze may end on Friday.", sure(0.1), func(c *ken.Claim) { c.ExpiresAt = epoch.Add(day) })
		k.set(epoch.Add(10 * day))
		if got := k.events(); got != "" {
			k.Errorf("got %s", got)
		}
	})
}

func TestRulesThatNobodyApproved(t *testing.T) {
	each(t, func(k *kit) {
		said := func(c *ken.Claim) {
			c.Evidence, c.RuleCandidate = []ken.Evidence{ken.FromUserStatement("s", "m")}, true
		}
		id := k.write("Never deploy on Fridays.", said)
		items := k.list()
		if len(items) != 1 || items[0].Event != attention.Rule || items[0].Severity != attention.Info || !slices.Equal(items[0].Claims, []string{id}) ||
			items[0].Commands[0] != "ken memory approve "+id || !strings.Contains(items[0].Text, "Fridays") {
			k.Fatalf("got %+v", items)
		}
		k.move(id, ken.StatusDisputed, "rejected")
		if got := k.events(); got != "" {
			k.Errorf("rejected, and still there: %s", got)
		}
		for i := range 25 {
			k.write(fmt.Sprintf("Never do thing %d.", i), said)
		}
		if items = k.list(); len(items) != 20 || !strings.Contains(items[19].Text, "And 5 more: ken memory review.") {
			k.Errorf("%d items: %+v", len(items), items[len(items)-1])
		}
	})
}

func TestUnsureClaims(t *testing.T) {
	each(t, func(k *kit) {
		at := func(age time.Duration) func(*ken.Claim) {
			return func(c *ken.Claim) { c.CreatedAt = epoch.Add(-age) }
		}
		old := k.write("Friday is a holiday, perhaps.", sure(0.49), at(8*day))
		k.write("Monday, perhaps.", sure(0.4), at(6*day))
		k.write("Tuesday, probably.", sure(0.5), at(30*day))
		k.write("Wednesday, they say.", sure(0.2), at(30*day), is(ken.StatusVerified))
		k.write("a candidate", sure(0.2), at(30*day), is(ken.StatusHypothesis), ofKind(ken.KindPattern))
		guess := k.write("Thursday is a guess.", sure(0.1), at(7*day), is(ken.StatusHypothesis))
		items := k.list(attention.Options{Now: epoch})
		if len(items) != 2 || !slices.Equal(items[0].Claims, []string{guess}) || !slices.Equal(items[1].Claims, []string{old}) {
			k.Fatalf("got %+v", items)
		}
		i := items[1]
		if i.Event != attention.Unsure || i.Severity != attention.Info || i.Action != "Verify or discard" || i.Commands[0] != "ken verify "+old {
			k.Errorf("got %+v", i)
		}
		items = k.list(attention.Options{Now: epoch, Age: 20 * day, Below: 0.6})
		if len(items) != 1 || !strings.Contains(items[0].Text, "Tuesday") {
			k.Errorf("with other bounds: %+v", items)
		}
		k.move(old, ken.StatusVerified, "")
		k.move(guess, ken.StatusObserved, "")
		if items = k.list(attention.Options{Now: epoch}); len(items) != 1 || items[0].Claims[0] != guess {
			k.Errorf("after one was verified: %+v", items)
		}
	})
}

func TestWarningsComeFirstThenTheNewest(t *testing.T) {
	each(t, func(k *kit) {
		k.write("a guess", sure(0.1), func(c *ken.Claim) { c.CreatedAt = epoch.Add(-9 * day) })
		for n := range 2 {
			id := k.write(fmt.Sprint("held for certain ", n), is(ken.StatusVerified))
			k.move(id, ken.StatusDisputed, "")
		}
		if err := attention.Reject(k.Context(), k.Shelf(), attention.Rejection{At: epoch, Why: "no evidence"}); err != nil {
			k.Fatal(err)
		}
		items := k.list()
		var got []string
		for _, i := range items {
			got = append(got, string(i.Event))
		}
		if strings.Join(got, " ") != "disputed disputed rejected unsure" || !items[0].At.After(items[1].At) {
			k.Errorf("got %v: %+v", got, items)
		}
	})
}

// A queue over a store that fails says so instead of looking empty.
func TestListTellsOfAFailingSource(t *testing.T) {
	each(t, func(k *kit) {
		ctx, cancel := context.WithCancel(k.Context())
		k.write("a guess", sure(0.1), func(c *ken.Claim) { c.CreatedAt = epoch.Add(-9 * day) })
		cancel()
		if items, err := attention.List(ctx, k.source, k.Shelf(), attention.Options{Now: epoch}); !errors.Is(err, context.Canceled) {
			k.Errorf("%v, %v", items, err)
		}
	})
}

func TestListWithoutAShelf(t *testing.T) {
	each(t, func(k *kit) {
		k.write("a guess", sure(0.1), func(c *ken.Claim) { c.CreatedAt = epoch.Add(-9 * day) })
		items, err := attention.List(k.Context(), k.source, nil, attention.Options{Now: epoch})
		if err != nil || len(items) != 1 {
			k.Errorf("%v, %v", items, err)
		}
	})
}
