package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Options are the suite's settings for the store that it opens.
type Options struct {
	Owner string           // "" for the default
	Now   func() time.Time // never nil; safe for concurrent use
	NewID func() string    // nil for the store's own

	// Assign files claims while the store writes them; nil in most tests. See
	// store.Env.
	Assign func(store.Structure, *ken.Claim)

	// Embed and Dim are set by RunProjections only. Embed returns one vector of length
	// 1 for each text, nil for a text that has none. The store must embed during the
	// write: the vector is stored when the write returns, unless Embed failed.
	Embed func(ctx context.Context, texts []string) ([][]float32, error)
	Dim   int
}

// Run tests the stores that open returns against the contract of ken.Store. Each call
// to open must return a new, empty store, and close it with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T, o Options) ken.Store) {
	tests := []struct {
		name string
		run  func(k *kit)
	}{
		{"Write", testWrite},
		{"Key", testKey},
		{"Invalid", testInvalid},
		{"Owner", testOwner},
		{"Unclean", testUnclean},
		{"Question", testQuestion},
		{"Language", testLanguage},
		{"Order", testOrder},
		{"Filter", testFilter},
		{"Copies", testCopies},
		{"Transition", testTransition},
		{"Supersede", testSupersede},
		{"History", testHistory},
		{"Get", testGet},
		{"ByKey", testByKey},
		{"Reinforce", testReinforce},
		{"Ahead", testAhead},
		{"Archive", testArchive},
		{"Assign", testAssign},
		{"AssignOnWrite", testAssignOnWrite},
		{"ExternalIsNoConstraint", testExternal},
		{"Scan", testScan},
		{"Cancelled", testCancelled},
		{"Concurrency", testConcurrency},
		{"Model", testModel},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(newKit(t, open)) })
	}
}

// test is a test and its context.
type test struct {
	*testing.T
	ctx context.Context
}

// must ends the test if there is an error.
func (t test) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// kit is a test with a store, and the function to open more.
type kit struct {
	test
	open  func(t *testing.T, o Options) ken.Store
	clock *clock
	s     ken.Store
}

// has skips the test if the store lacks an optional method.
func has[T any](k *kit, why string) {
	k.Helper()
	if _, ok := k.s.(T); !ok {
		k.Skip(why)
	}
}

// errOf returns the error of a call.
func errOf[T any](_ T, err error) error { return err }

// ended returns a context that has ended.
func ended(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

func newKit(t *testing.T, open func(t *testing.T, o Options) ken.Store) *kit {
	k := &kit{test: test{t, t.Context()}, open: open, clock: &clock{}}
	k.s = k.another(Options{})
	return k
}

// sub runs f as a subtest with a fresh store.
func (k *kit) sub(name string, f func(k *kit)) {
	k.Helper()
	k.Run(name, func(t *testing.T) { f(newKit(t, k.open)) })
}

// another opens another store on the same clock.
func (k *kit) another(o Options) ken.Store {
	o.Now = k.clock.Now
	s := k.open(k.T, o)
	k.Cleanup(func() { checkChain(k.T, s) })
	return s
}

// checkChain verifies the log of a store that has Events. It uses a context of its own,
// because the test's has ended when clean-up runs.
func checkChain(t *testing.T, s ken.Store) {
	log, ok := s.(interface {
		Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error]
	})
	if !ok {
		return
	}
	var prev store.Event
	for ev, err := range log.Events(context.Background(), 1) {
		if err != nil {
			t.Errorf("read the log after event %d: %v", prev.Seq, err)
			return
		}
		if ev.Seq != prev.Seq+1 {
			t.Errorf("event %d follows event %d", ev.Seq, prev.Seq)
		}
		if err := ev.Verify(prev.Hash); err != nil {
			t.Errorf("verify the log: %v", err)
		}
		prev = *ev
	}
}

// clock advances by a second with each call of Now, so that times are distinct and
// ordered.
type clock struct {
	mu   sync.Mutex // guards seen
	seen int
}

var epoch = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen++
	return epoch.Add(time.Duration(c.seen) * time.Second)
}

// claim returns a valid claim with this text, with an agent's evidence.
func claim(text string, change ...func(*ken.Claim)) ken.Claim {
	c := ken.Claim{Text: text, Kind: ken.KindFact, Status: ken.StatusObserved, Confidence: 1, Importance: 0.5,
		Evidence: []ken.Evidence{ken.FromArtifact("storetest", "")}}
	for _, f := range change {
		f(&c)
	}
	return c
}

func withKey(key string) func(*ken.Claim)           { return func(c *ken.Claim) { c.Key = key } }
func withStatus(status ken.Status) func(*ken.Claim) { return func(c *ken.Claim) { c.Status = status } }

// write writes a claim that must be accepted.
func (k *kit) write(text string, change ...func(*ken.Claim)) string {
	k.Helper()
	id, err := k.s.WriteClaim(k.ctx, claim(text, change...))
	if err != nil {
		k.Fatalf("write %.60q: %v", text, err)
	}
	if id == "" {
		k.Fatalf("write %.60q: no id", text)
	}
	return id
}

func (k *kit) transition(id string, to ken.Status) {
	k.Helper()
	k.must(k.s.Transition(k.ctx, ken.Transition{ID: id, To: to}))
}

func (k *kit) supersede(oldID, newID string) {
	k.Helper()
	k.must(k.s.Supersede(k.ctx, oldID, newID))
}

func (k *kit) query(q ken.Query) []ken.Claim {
	k.Helper()
	found, err := k.s.Query(k.ctx, q)
	k.must(err)
	return found
}

// ask returns the ids that a question finds by default.
func (k *kit) ask(question string) []string {
	k.Helper()
	return ids(k.query(ken.Query{Question: question, Limit: many}))
}

// finds checks which claims a question finds, in their order; findsSet in any order.
func (k *kit) finds(question string, want ...string) {
	k.Helper()
	if found := k.ask(question); !slices.Equal(found, want) {
		k.Errorf("%q finds %v, want %v", question, found, want)
	}
}

func (k *kit) findsSet(question string, want ...string) {
	k.Helper()
	if found := k.ask(question); !sameSet(found, want) {
		k.Errorf("%q finds %v, want %v", question, found, want)
	}
}

// wantEvents checks how many events a claim's history has.
func (k *kit) wantEvents(id string, want int) {
	k.Helper()
	if events := k.history(id); len(events) != want {
		k.Errorf("%d events, want %d: %+v", len(events), want, events)
	}
}

// get returns a claim, whatever its status.
func (k *kit) get(id string) ken.Claim {
	k.Helper()
	for _, c := range k.query(ken.Query{Filter: ken.Filter{Statuses: ken.Statuses()}, Limit: many}) {
		if c.ID == id {
			return c
		}
	}
	k.Fatalf("claim %s is missing", id)
	return ken.Claim{}
}

func (k *kit) history(id string) []ken.ClaimEvent {
	k.Helper()
	events, err := k.s.History(k.ctx, id)
	k.must(err)
	return events
}

func (k *kit) historyTypes(id string) []ken.EventType {
	k.Helper()
	var out []ken.EventType
	for _, e := range k.history(id) {
		out = append(out, e.Type)
	}
	return out
}

// wantErr checks an error's code and, unless field is empty, the field that it
// names.
func (k *kit) wantErr(err error, want *ken.Error, field string) {
	k.Helper()
	var e *ken.Error
	if !errors.Is(err, want) || !errors.As(err, &e) {
		k.Errorf("got %v, want an error of code %s", err, want.Code)
		return
	}
	if field != "" && e.Field != field {
		k.Errorf("the error names field %q, want %q: %v", e.Field, field, err)
	}
}

// many is more claims than any test writes.
const many = 10_000

func ids(claims []ken.Claim) []string {
	out := make([]string, len(claims))
	for i, c := range claims {
		out[i] = c.ID
	}
	return out
}

// neighbours opens the stores of two owners, each with one claim under the same key.
func neighbours(k *kit) (ada, ben ken.Store, adas, bens string) {
	k.Helper()
	ada, ben = k.another(Options{Owner: "ada"}), k.another(Options{Owner: "ben"})
	adas, err := ada.WriteClaim(k.ctx, claim("ada likes sagas", withKey("k")))
	k.must(err)
	bens, err = ben.WriteClaim(k.ctx, claim("ben likes sagas", withKey("k")))
	k.must(err)
	return ada, ben, adas, bens
}

func testOwner(k *kit) {
	k.sub("a claim of another owner is refused", func(k *kit) {
		ada, _, _, _ := neighbours(k)
		k.wantErr(errOf(ada.WriteClaim(k.ctx, claim("ben likes tea", func(c *ken.Claim) { c.Owner = "ben" }))), ken.ErrRefused, "owner")
	})

	k.sub("the own name is accepted and filled in", func(k *kit) {
		ada, _, adas, _ := neighbours(k)
		if _, err := ada.WriteClaim(k.ctx, claim("ada likes tea", func(c *ken.Claim) { c.Owner = "ada" })); err != nil {
			k.Error(err)
		}
		found, err := ada.Query(k.ctx, ken.Query{Question: "sagas"})
		if err != nil || len(found) != 1 || found[0].Owner != "ada" || found[0].ID != adas {
			k.Errorf("%+v, %v", found, err)
		}
	})

	k.sub("no question reaches across owners", func(k *kit) {
		ada, _, _, bens := neighbours(k)
		for _, question := range []string{"", "sagas", "ben", bens, "owner:ben", "*"} {
			found, err := ada.Query(k.ctx, ken.Query{Question: question, Filter: ken.Filter{Statuses: ken.Statuses()}, Limit: many})
			if err != nil {
				k.Error(err)
			}
			for _, c := range found {
				if c.Owner != "ada" {
					k.Errorf("%q finds %s's claim", question, c.Owner)
				}
			}
		}
	})

	k.sub("the id of another owner is not found", func(k *kit) {
		ada, ben, adas, bens := neighbours(k)
		k.wantErr(ada.Transition(k.ctx, ken.Transition{ID: bens, To: ken.StatusDisputed}), ken.ErrNotFound, "")
		k.wantErr(ada.Supersede(k.ctx, bens, adas), ken.ErrNotFound, "")
		k.wantErr(ada.Supersede(k.ctx, adas, bens), ken.ErrNotFound, "")
		k.wantErr(errOf(ada.History(k.ctx, bens)), ken.ErrNotFound, "")
		found, err := ben.Query(k.ctx, ken.Query{Question: "sagas"})
		if err != nil || len(found) != 1 || found[0].Status != ken.StatusObserved {
			k.Errorf("ben's claim is now %+v, %v", found, err)
		}
	})
}

// Made up, and split so that a scanner of source code does not stumble on them.
var madeUpSecrets = []string{
	"AKIA" + "Q3EGRT7XJ5LMN2PZ",
	"ghp_" + "b7Xk2mQ9wLr4TzN8vYp1Sd6Hf3Jc5Ga0Ue2B",
}

func testUnclean(k *kit) {
	k.sub("reasoning does not reach the log", func(k *kit) {
		id := k.write("<think>the user may be testing me</think>payments uses sagas",
			func(c *ken.Claim) {
				c.Heading = "<THINK>hm</THINK>Sagas"
				c.Evidence[0].Detail = "<scratch_pad>plan</scratch_pad>report 7"
			})
		c := k.get(id)
		if strings.TrimSpace(c.Text) != "payments uses sagas" || strings.TrimSpace(c.Heading) != "Sagas" ||
			strings.TrimSpace(c.Evidence[0].Detail) != "report 7" {
			k.Errorf("kept %q, %q, %q", c.Heading, c.Text, c.Evidence[0].Detail)
		}
		k.finds("testing")
	})

	k.sub("text that is only reasoning is refused", func(k *kit) {
		for _, text := range []string{
			"<think>let me see</think>", " <think>a</think>\n<scratch_pad>b</scratch_pad> ", "<think>never closed",
		} {
			k.wantErr(errOf(k.s.WriteClaim(k.ctx, claim(text))), ken.ErrRefused, "text")
		}
		k.finds("")
	})

	k.sub("secrets are not stored verbatim", func(k *kit) {
		for _, secret := range madeUpSecrets {
			id := k.write("deploy with "+secret+" on Fridays", func(c *ken.Claim) {
				c.Heading = "key " + secret
				c.Evidence = []ken.Evidence{ken.FromToolResult("tc", "printed "+secret), ken.FromExitCode("login "+secret, 0)}
			})
			err := k.s.Transition(k.ctx, ken.Transition{ID: id, To: ken.StatusDisputed, Reason: "it leaks " + secret,
				Evidence: []ken.Evidence{ken.FromMessage("s", "m", "found "+secret)}})
			k.must(err)
			kept, err := json.Marshal(map[string]any{"claim": k.get(id), "history": k.history(id)})
			k.must(err)
			if strings.Contains(string(kept), secret) {
				k.Errorf("%s… is in what was kept: %s", secret[:4], kept)
			}
			if !strings.Contains(k.get(id).Text, "on Fridays") {
				k.Errorf("the rest of the text is missing: %q", k.get(id).Text)
			}
		}
	})

	k.sub("NUL and invalid UTF-8 are cleaned", func(k *kit) {
		for _, text := range []string{"sagas a\x00b", "sagas caf\xe9", "\xff\xfesagas", "sagas \x1b[31mred"} {
			c := k.get(k.write(text))
			if !utf8.ValidString(c.Text) || strings.ContainsAny(c.Text, "\x00\x1b") {
				k.Errorf("%q became %q", text, c.Text)
			}
			if !strings.Contains(c.Text, "sagas") {
				k.Errorf("%q lost its words: %q", text, c.Text)
			}
		}
		if found := k.ask("sagas"); len(found) != 4 {
			k.Errorf("found %d of 4", len(found))
		}
	})
}

// testAhead checks that a time in the future becomes the time of the write, so that the
// claim ages from then on. A difference of some minutes is accepted, since clocks
// differ.
func testAhead(k *kit) {
	const days = 90
	future := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	isNow := func(k *kit, what string, t time.Time) {
		k.Helper()
		if t.Before(epoch) || t.After(k.clock.Now()) {
			k.Errorf("%s at %v, written after %v", what, t, epoch)
		}
	}
	hard := func(at time.Time) []ken.Evidence {
		out := []ken.Evidence{ken.FromTestResult("A", ""), ken.FromGitHistory("r", "c", "")}
		for i := range out {
			out[i].FetchedAt = at
		}
		return out
	}

	k.sub("written", func(k *kit) {
		id := k.write("payments uses sagas", func(c *ken.Claim) {
			c.CreatedAt, c.UpdatedAt, c.ReinforcedAt, c.Evidence = future, future, future, hard(future)
		})
		c := k.get(id)
		isNow(k, "created", c.CreatedAt)
		isNow(k, "updated", c.UpdatedAt)
		isNow(k, "reinforced", c.ReinforcedAt)
		isNow(k, "evidence", c.Evidence[0].FetchedAt)
		s := c.Support(nil)
		if got := s.At(k.clock.Now(), days); got != ken.Verified {
			k.Errorf("at once: %v", got)
		}
		if got := s.At(epoch.AddDate(0, 0, days+2), days); got != ken.Inferred {
			k.Errorf("after %d days: %v", days+2, got)
		}
	})

	k.sub("a clock that is a little ahead", func(k *kit) {
		soon := k.clock.Now().Add(3 * time.Minute)
		c := k.get(k.write("payments uses sagas", func(c *ken.Claim) { c.CreatedAt, c.Evidence = soon, hard(soon) }))
		if !c.CreatedAt.Equal(soon) || !c.Evidence[0].FetchedAt.Equal(soon) {
			k.Errorf("created %v, evidence %v, want %v", c.CreatedAt, c.Evidence[0].FetchedAt, soon)
		}
	})

	k.sub("brought later", func(k *kit) {
		id := k.write("payments uses sagas")
		err := k.s.Transition(k.ctx, ken.Transition{ID: id, To: ken.StatusVerified, Reason: "it was seen", Evidence: hard(future)[:1]})
		k.must(err)
		if r, ok := k.s.(reinforcer); ok {
			k.must(r.Reinforce(k.ctx, id, hard(future)[1:], ken.Actor{}))
		}
		for _, e := range k.get(id).Evidence {
			if !e.FetchedAt.IsZero() {
				isNow(k, "evidence", e.FetchedAt)
			}
		}
	})

	k.sub("with a life of its own", func(k *kit) {
		im, ok := k.s.(interface {
			Import(context.Context, []store.Incoming) []store.Outcome
		})
		if !ok {
			return
		}
		c := ken.Claim{Text: "payments uses sagas", CreatedAt: future, Evidence: hard(future), Key: "k"}
		prior := []ken.ClaimEvent{{At: future, Type: ken.EventReinforced, Evidence: hard(future)}}
		for _, o := range im.Import(k.ctx, []store.Incoming{{Claim: c, Prior: prior}}) {
			if o.Err != nil {
				k.Fatal(o.Err)
			}
			for _, e := range k.history(o.ID) {
				isNow(k, "history", e.At)
				for _, e := range e.Evidence {
					isNow(k, "evidence of the history", e.FetchedAt)
				}
			}
		}
		// The same file once more changes nothing.
		for _, o := range im.Import(k.ctx, []store.Incoming{{Claim: c, Prior: prior}}) {
			if o.Err != nil || o.Changed {
				k.Errorf("again: %+v", o)
			}
		}
	})
}
