package retriever_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
)

// known is a store with claims in it, in their order.
func known(t testing.TB, claims ...ken.Claim) (s memory.Store, ids []string) {
	t.Helper()
	s = memory.New(memory.Options{})
	for _, c := range claims {
		id, err := s.WriteClaim(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return s, ids
}

func noted(t testing.TB, text, aspect string, entities ...string) ken.Claim {
	t.Helper()
	c, err := ken.NewClaim(text, ken.FromUserStatement("s", "m"))
	if err != nil {
		t.Fatal(err)
	}
	c.Entities, c.Aspect, c.AssignedBy = entities, aspect, ken.AssignedByOperator
	return c
}

func rule(t testing.TB, text string, entities ...string) ken.Claim {
	c := noted(t, text, "", entities...)
	c.Constraint = true
	return c
}

func about(question string, keywords ...string) retriever.Turn {
	return retriever.Turn{Signals: ken.Signals{Question: question, Keywords: keywords, Asks: true}}
}

// structured searches by words and by structure.
func structured(p store.Projections, change ...func(*retriever.Options)) *retriever.Retriever {
	o := retriever.Options{Sources: []retriever.Source{retriever.Keyword(p)}, Structure: &retriever.Structure{}, Deadline: 30 * time.Second}
	for _, f := range change {
		f(&o)
	}
	return retriever.New(p, o)
}

// No bound of a turn counts for what always applies.
func TestConstraintsPassEveryCut(t *testing.T) {
	var claims []ken.Claim
	for i := range 50 {
		claims = append(claims, rule(t, fmt.Sprintf("Rule number %d stands.", i), "payments"))
	}
	claims = append(claims, noted(t, "The checkout is blue.", "", "checkout"), noted(t, "The checkout is round.", "", "checkout"))
	s, _ := known(t, claims...)
	got := structured(s, func(o *retriever.Options) { o.Pool, o.TopK, o.Floor = 1, 1, -1 }).Retrieve(t.Context(), about("payments and checkout", "payments", "checkout"))
	rules := 0
	for i, c := range got.Candidates {
		if c.Constraint {
			if rules++; rules != i+1 || c.Memory || c.Sources[retriever.SourceStructure].Rank != i+1 {
				t.Errorf("%d: %+v", i, c)
			}
		}
	}
	if rules != 50 || got.Rules != 50 || len(got.Candidates) != 51 || got.Retrieved != 52 {
		t.Errorf("%d rules of %d candidates, %d retrieved", rules, len(got.Candidates), got.Retrieved)
	}
	got = structured(s, func(o *retriever.Options) { o.Floor = 1 }).Retrieve(t.Context(), about("payments and checkout", "payments", "checkout"))
	if len(got.Candidates) != 50 {
		t.Errorf("%d above the highest floor", len(got.Candidates))
	}
}

// A rule with the words of the question is evidence that the turn needs
// knowledge, also for the other hits.
func TestConstraintsAreEvidence(t *testing.T) {
	s, list := known(t, rule(t, "Refunds of payments above 500 need two approvals.", "payments"), noted(t, "Refunds need a ticket.", ""))
	got := structured(s).Retrieve(t.Context(), about("which refunds of payments need approvals", "refunds", "payments", "need", "approvals"))
	if w := list; !slices.Equal(w, ids(got)) || got.Evidence < retriever.DefaultFloor {
		t.Errorf("%v, evidence %v", ids(got), got.Evidence)
	}
	if c := got.Candidates[0]; c.Sources[retriever.SourceKeyword].Rank != 1 {
		t.Errorf("how else it was found is lost: %+v", c.Sources)
	}
}

func TestATurnThatAsksForNothingGetsNoStructure(t *testing.T) {
	s, rules := known(t, rule(t, "Never on Fridays.", "payments"), noted(t, "It is so.", "", "payments"))
	turn := about("thanks, payments!")
	turn.Signals.Asks = false
	if got := structured(s).Retrieve(t.Context(), turn); len(got.Candidates) != 0 || len(got.Focal) != 0 {
		t.Errorf("%+v", got)
	}
	// But one that goes on with its session has the rules of what that was about.
	turn.Signals.Resumes, turn.Signals.Question, turn.Carried = true, "continue", []string{"payments"}
	if got := structured(s).Retrieve(t.Context(), turn); !slices.Equal(ids(got), rules[:1]) {
		t.Errorf("%v", ids(got))
	}
}

func TestAttributesAreALeg(t *testing.T) {
	s, list := known(t, noted(t, "Rollbacks need two people.", "deploys", "payments", "ops"), noted(t, "The moon is far.", "sky", "moon"))
	got := structured(s).Retrieve(t.Context(), about("payments?", "payments"))
	if !slices.Equal(ids(got), list[:1]) {
		t.Fatalf("%v, cut %v", ids(got), got.Cut)
	}
	c := got.Candidates[0]
	if c.Sources[retriever.SourceStructure].Rank != 1 || c.Signals[retriever.SignalStructure] <= 0 || c.Signals[retriever.SignalStructure] > 1 {
		t.Errorf("%+v", c)
	}
	if _, ok := c.Signals[retriever.SignalDistance]; !ok {
		t.Errorf("%v", c.Signals)
	}
}

// Claims of a large entity must not push out claims with the words of the question.
func TestABigEntityDoesNotPushOutBetterWords(t *testing.T) {
	var claims []ken.Claim
	for i := range 200 {
		claims = append(claims, noted(t, fmt.Sprintf("Detail %d of it is of no matter.", i), fmt.Sprintf("aspect%d", i%10), "payments", fmt.Sprintf("part%d", i)))
	}
	claims = append(claims, noted(t, "Chargebacks are disputed within ten days.", "", "cards"))
	s, list := known(t, claims...)
	got := structured(s).Retrieve(t.Context(), about("within how many days are chargebacks disputed in payments", "days", "chargebacks", "disputed", "payments"))
	if len(got.Candidates) == 0 || got.Candidates[0].Row.ID != list[200] {
		t.Errorf("%v is not %s", ids(got)[:min(1, len(got.Candidates))], list[200])
	}
}

// faulty is a store with a structure that can't be read.
type faulty struct {
	store.Projections
	err   error
	panic bool
}

func (f faulty) Outlines(context.Context, []string, *ken.Filter, store.OutlineOptions) ([]store.Outline, error) {
	if f.panic {
		panic("broken")
	}
	return nil, f.err
}

// A fault in the structure is reported, and the other sources answer.
func TestAStructureThatFailsIsTold(t *testing.T) {
	s, list := known(t, noted(t, "Payments are retried three times.", "", "payments"), rule(t, "Never on Fridays.", "payments"))
	for _, p := range []faulty{{s, errors.New("holder gone"), false}, {s, nil, true}} {
		got := structured(p).Retrieve(t.Context(), about("how often are payments retried", "payments", "retried"))
		if len(got.Degraded) != 1 || got.Degraded[0][:len("structure: ")] != "structure: " {
			t.Errorf("degraded %q", got.Degraded)
		}
		if !slices.Contains(ids(got), list[0]) || len(got.Focal) != 0 {
			t.Errorf("%v", ids(got))
		}
	}
}

// The deadline of the sources and the end of the turn don't affect data in memory.
func TestStructureNeedsNoTime(t *testing.T) {
	s, list := known(t, rule(t, "Never on Fridays.", "payments"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := structured(s, func(o *retriever.Options) { o.Deadline = time.Nanosecond }).Retrieve(ctx, about("deploy payments", "deploy", "payments"))
	if !slices.Equal(ids(got), list) {
		t.Errorf("%v, degraded %q", ids(got), got.Degraded)
	}
}

// Without anything filed, nothing is different.
func TestWithoutStructureNothingChanges(t *testing.T) {
	var claims []ken.Claim
	for i := range 60 {
		c := noted(t, fmt.Sprintf("Note %d is about payments, refunds and the number %d.", i, i*i), "")
		c.AssignedBy = ""
		claims = append(claims, c)
	}
	s, _ := known(t, claims...)
	turn := about("what about the refunds of payments", "refunds", "payments")
	plain := structured(s, func(o *retriever.Options) { o.Structure = nil }).Retrieve(t.Context(), turn)
	with := structured(s).Retrieve(t.Context(), turn)
	plain.MS, with.MS = nil, nil
	equal(t, "result", with, plain)
}

// Names are looked for in the complete text, and in the context of the turn.
func TestWhereEntitiesComeFrom(t *testing.T) {
	s, _ := known(t, rule(t, "One.", "payments"), rule(t, "Two.", "ledger"), rule(t, "Three.", "shop"), rule(t, "Four.", "refunds"))
	turn := about("does it work")
	turn.Text, turn.Project, turn.Carried = "does it work with payments", "/src/shop", []string{"refunds"}
	turn.Filter = ken.Filter{Scopes: []ken.Scope{{Type: ken.ScopeRepo, ID: "acme/ledger"}}, Unscoped: true}
	var names []string
	for _, f := range structured(s).Retrieve(t.Context(), turn).Focal {
		names = append(names, f.Name+" "+string(f.From))
	}
	equal(t, "focal", names, []string{"payments " + string(structure.FromText), "refunds " + string(structure.FromSession),
		"ledger " + string(structure.FromScope), "shop " + string(structure.FromProject)})
}

// episode is the summary of a session, as old as it has days.
func episode(t testing.TB, session string, days int) ken.Claim {
	return claim(t, fmt.Sprintf("summary %d of %s", days, session), func(c *ken.Claim) {
		c.Kind, c.Session, c.CreatedAt = ken.KindEpisode, session, day.AddDate(0, 0, -days)
	})
}

func texts(t testing.TB, s store.Projections, hits []store.Hit) (out []string) {
	t.Helper()
	for _, h := range hits {
		c, err := s.Claim(t.Context(), h.Ref)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c.Text)
	}
	return out
}

// A session does not get its own episodes, of which a long session has several,
// and they take no other episode's place.
func TestSessionsAreOtherSessionsNewestFirst(t *testing.T) {
	claims := []ken.Claim{episode(t, "a", 9), episode(t, "b", 2), episode(t, "c", 4), episode(t, "d", 30)}
	for part := range 12 {
		claims = append(claims, episode(t, "mine", part))
	}
	claims = append(claims, claim(t, "a fact", func(c *ken.Claim) { c.CreatedAt = day }))
	s := library(t, claims...)
	for _, tt := range []struct {
		session string
		limit   int
		want    []string
	}{
		{"mine", 3, []string{"summary 2 of b", "summary 4 of c", "summary 9 of a"}},
		{"mine", 50, []string{"summary 2 of b", "summary 4 of c", "summary 9 of a", "summary 30 of d"}},
		{"mine", 1, []string{"summary 2 of b"}},
		{"b", 3, []string{"summary 0 of mine", "summary 1 of mine", "summary 2 of mine"}},
		{"", 2, []string{"summary 0 of mine", "summary 1 of mine"}},
	} {
		res, err := retriever.Sessions(s).Search(t.Context(), &retriever.Query{Filter: &ken.Filter{}, Limit: tt.limit, Session: tt.session})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, fmt.Sprintf("session %q, limit %d", tt.session, tt.limit), texts(t, s, res.Hits), tt.want)
	}
}

// vanishing forgets a record between the list and the look at it.
type vanishing struct {
	store.Projections
	gone store.Ref
	err  error
}

func (v vanishing) Claim(ctx context.Context, ref store.Ref) (ken.Claim, error) {
	if ref == v.gone {
		return ken.Claim{}, v.err
	}
	return v.Projections.Claim(ctx, ref)
}

func TestMemoryLegsSkipWhatWasForgottenMeanwhile(t *testing.T) {
	play := func(c *ken.Claim) { c.Kind = ken.KindPlaybook }
	s := library(t, episode(t, "a", 3), episode(t, "b", 2), episode(t, "c", 1), claim(t, "deploy", play), claim(t, "restore", play))
	q := &retriever.Query{Filter: &ken.Filter{}, Limit: 3, Session: "other"}
	for i, l := range []func(store.Projections) retriever.Source{retriever.Sessions,
		func(p store.Projections) retriever.Source { return retriever.Playbooks(p, nil) }} {
		gone := []store.Ref{1, 4}[i]
		res, err := l(vanishing{s, gone, &ken.Error{Code: ken.CodeNotFound}}).Search(t.Context(), q)
		if err != nil || len(res.Hits) != 2-i {
			t.Errorf("%+v, %v", res, err)
		}
		if _, err := l(vanishing{s, gone, errBoom}).Search(t.Context(), q); !errors.Is(err, errBoom) {
			t.Errorf("an unreadable record: %v", err)
		}
	}
}

// A relevant episode is in the knowledge part, complete. The digest has the
// others, and those that the words found and the floor or the pool cut.
func TestEpisodesAreFoundOnce(t *testing.T) {
	sessions := says(retriever.SourceSessions, refs(3, 2, 1)...)
	sign := func(r retriever.Result) (out []string) {
		for _, c := range r.Candidates {
			s := c.Row.ID
			if c.Memory {
				s += " memory"
			}
			if c.Recent {
				s += " recent"
			}
			out = append(out, s)
		}
		return out
	}
	poor := refs(0, 1)
	poor[0].Share, poor[1].Share = 0.5, 0.01
	for name, tt := range map[string]struct {
		o    retriever.Options
		want []string
		cuts map[string]ken.CutReason
	}{
		"not found otherwise": {retriever.Options{Sources: []retriever.Source{sessions, says(retriever.SourceKeyword, refs(0)...)}},
			[]string{"3 memory", "2 memory", "1 memory", "0"}, map[string]ken.CutReason{}},
		"found": {retriever.Options{Sources: []retriever.Source{sessions, says(retriever.SourceKeyword, refs(2, 0)...)}},
			[]string{"3 memory", "1 memory", "2 recent", "0"}, map[string]ken.CutReason{}},
		"found with too little evidence": {retriever.Options{Sources: []retriever.Source{sessions, says(retriever.SourceKeyword, poor...)}},
			[]string{"3 memory", "2 memory", "1 memory", "0"}, map[string]ken.CutReason{}},
		"found behind others": {retriever.Options{TopK: 1, Sources: []retriever.Source{sessions, says(retriever.SourceKeyword, refs(0, 2, 4)...)}},
			[]string{"3 memory", "2 memory", "1 memory", "0"}, map[string]ken.CutReason{"4": ken.CutPool}},
		"beyond the pool": {retriever.Options{Pool: 1, Sources: []retriever.Source{sessions, says(retriever.SourceKeyword, refs(0, 2, 4)...)}},
			[]string{"3 memory", "2 memory", "1 memory", "0"}, map[string]ken.CutReason{"4": ken.CutPool}},
		"pinned": {retriever.Options{Sources: []retriever.Source{sessions, says(retriever.SourcePinned, refs(2)...)}},
			[]string{"2 memory", "3 memory", "1 memory"}, map[string]ken.CutReason{}},
	} {
		got := retrieve(t, records(5), tt.o)
		equal(t, name, sign(got), tt.want)
		equal(t, name+": cuts", cuts(got), tt.cuts)
		if sum := got.Memory + got.Sessions; sum > got.Retrieved || got.Retrieved != len(got.Candidates)+len(got.Cut)-poorCuts(got) {
			t.Errorf("%s: %d retrieved, %d memory, %d sessions", name, got.Retrieved, got.Memory, got.Sessions)
		}
	}
}

// poorCuts is how many cuts are not of what was retrieved.
func poorCuts(r retriever.Result) (n int) {
	for _, c := range r.Cut {
		if c.Reason != ken.CutPool && c.Reason != ken.CutFloor {
			n++
		}
	}
	return n
}

// A recent episode that is knowledge says in its sources that it is recent too.
func TestRecentKnowledgeNamesTheSessionsLeg(t *testing.T) {
	got := retrieve(t, records(3), retriever.Options{Sources: []retriever.Source{says(retriever.SourceSessions, refs(2, 1)...), says(retriever.SourceKeyword, refs(1)...)}})
	c := got.Candidates[len(got.Candidates)-1]
	equal(t, "rank", c.Sources[retriever.SourceSessions].Rank, 2)
	equal(t, "rank among the words", c.Sources[retriever.SourceKeyword].Rank, 1)
	equal(t, "sessions", got.Sessions, 1)
}

// The sources of memory are no search: without the others, nothing was searched.
func TestMemoryLegsAreNoMode(t *testing.T) {
	s := memory.New(memory.Options{Now: func() time.Time { return day }})
	got := retriever.New(s, retriever.Options{Sources: []retriever.Source{retriever.Sessions(s), retriever.Playbooks(s, nil)}}).Retrieve(t.Context(), retriever.Turn{})
	equal(t, "mode", got.Mode, ken.ModeNone)
	equal(t, "degraded", got.Degraded, []string(nil))
}
