package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/storetest"
)

var embedding = storetest.Options{Dim: 2, Embed: func(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		if out[i] = []float32{0.6, 0.8}; len(t)%2 == 0 {
			out[i] = []float32{0.8, -0.6}
		}
	}
	return out, nil
}, Now: time.Now}

// populated serves a store with claims of every sort, and returns their ids.
func populated(t testing.TB) (*served, []string) {
	return populate(t, serve(t, embedding, remote.ServerOptions{}))
}

func populate(t testing.TB, s *served) (*served, []string) {
	ctx := context.Background()
	code := 3
	var ids []string
	for i := range 40 {
		c := claim(t, fmt.Sprintf("the port of service%d is %d", i, 8000+i))
		if i%4 == 0 {
			c.Entities, c.Aspect = []string{"Services", fmt.Sprint("service", i%3), "ports"}[:1+i%3], "ports"
		}
		if i%20 == 19 {
			c.Kind, c.Entities, c.Importance = ken.KindDependency, []string{"services", "ports"}, float64(i)/40
		}
		switch i % 5 {
		case 0:
			c.Session, c.Key, c.Tags, c.Body = "s", fmt.Sprintf("key/%d", i), []string{"a", ""}, json.RawMessage(`{"a": [1, "<"]}`)
		case 1:
			c.Kind, c.Scope, c.Session = ken.KindEpisode, ken.Scope{Type: ken.ScopeRepo, ID: "r"}, "s"
			c.CreatedAt = time.Date(2025, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
		case 2:
			c.Kind, c.Constraint, c.ExpiresAt = ken.KindHot, true, time.Now().Add(time.Hour)
			c.Evidence = append(c.Evidence, ken.Evidence{Kind: ken.EvidenceExitCode, ID: "make", ExitCode: &code})
		case 3:
			c.Status = ken.StatusHypothesis
		}
		ids = append(ids, write(t, s.disk, c))
	}
	must(t, s.disk.Transition(ctx, ken.Transition{ID: ids[0], To: ken.StatusVerified, Reason: "looked", Evidence: []ken.Evidence{ken.FromTestResult("T", "")}}))
	must(t, s.disk.SupersedeFor(ctx, ids[4], ids[9], "newer", ken.Actor{Type: "user", ID: "ada"}))
	_, err := s.disk.Forget(ctx, ids[14], "", ken.Actor{})
	must(t, err)
	must(t, s.disk.PutDocuments(ctx, []store.Document{{Path: "a.go", Known: store.Known{Hash: "sha256:0", Size: 3, ModTime: time.Now().UTC(), ReadAt: time.Now().UTC(), Cut: "1"},
		Chunks: []ken.Claim{chunk(t, "func Port() int", 1), chunk(t, "func Host() string", 9)}}, {Path: "gone.go", Known: store.Known{Hash: "sha256:1"}}}))
	must(t, s.disk.RemoveDocuments(ctx, []string{"gone.go"}))
	return s, ids
}

func chunk(t testing.TB, text string, line int) ken.Claim {
	c := claim(t, text)
	c.Evidence = []ken.Evidence{ken.FromFile("a.go", "sha256:0", "")}
	c.Evidence[0].Line = line
	return c
}

// TestAClientReturnsWhatTheStoreReturns checks that a client returns the same values as the
// store, including whether a slice is nil or empty.
func TestAClientReturnsWhatTheStoreReturns(t *testing.T) {
	s, ids := populated(t)
	compareAnswers(t, s, ids)
}

func compareAnswers(t *testing.T, s *served, ids []string) {
	ctx := context.Background()
	soon := time.Now()
	filters := map[string]*ken.Filter{"by default": {Now: soon}, "all": {Statuses: ken.Statuses(), Unscoped: true}, "none": {Statuses: []ken.Status{}}, "everything": {Structural: true},
		"kinds": {Kinds: []ken.Kind{ken.KindHot, ken.KindEpisode}}, "scope": {Scopes: []ken.Scope{{Type: ken.ScopeRepo, ID: "r"}}}}
	type answers map[string]any
	ask := func(e store.Engine) answers {
		out := answers{}
		add := func(name string, v any, err error) {
			if err != nil {
				v = fmt.Sprintf("%v, code %v, hint %s", err, codeOf(err), ken.Hint(err))
			}
			out[name] = v
		}
		for name, f := range filters {
			for _, limit := range []int{0, 1, 100} {
				name := fmt.Sprintf("%s %d ", name, limit)
				res, err := e.Keyword(ctx, "port service7 func", f, limit)
				add(name+"keyword", res, err)
				res, err = e.Vector(ctx, []float32{0.6, 0.8}, f, limit)
				add(name+"vector", res, err)
				res, err = e.Pinned(ctx, f, limit)
				add(name+"pinned", res, err)
				res, err = e.Newest(ctx, f, limit)
				add(name+"newest", res, err)
			}
			q, err := e.Query(ctx, ken.Query{Question: "port", Filter: *f, Limit: 20})
			add(name+" query", q, err)
			q, err = e.Query(ctx, ken.Query{Question: "nothing that is there", Filter: *f})
			add(name+" no query", q, err)
			var scanned []ken.Claim
			for c, err := range e.Scan(ctx, f, func(g store.Glance) bool { return g.Confidence > 0 && !g.Expires }) {
				must(t, err)
				scanned = append(scanned, c)
			}
			add(name+" scan", scanned, nil)
		}
		_, err := e.Vector(ctx, []float32{1}, &ken.Filter{}, 1)
		add("dimension", nil, err)
		for ref := range store.Ref(e.Refs() + 2) {
			row, ok := e.Row(ref)
			add(fmt.Sprint("row ", ref), []any{row, ok}, nil)
			add(fmt.Sprint("form ", ref), e.Form(ref), nil)
			for _, n := range []int{0, 1, 3, 7, 100} {
				before, after := e.Around(ref, n)
				add(fmt.Sprint("around ", ref, " ", n), [][]store.Ref{before, after}, nil)
			}
			c, err := e.Claim(ctx, ref)
			add(fmt.Sprint("claim ", ref), c, err)
		}
		for _, id := range append(ids, "nobody", ids[3][len(ids[3])-8:], "") {
			c, err := e.Get(ctx, id)
			add("get "+id, c, err)
			h, err := e.History(ctx, id)
			add("history "+id, h, err)
			add("has "+id, e.Has(id), nil)
		}
		add("has all", []bool{store.HasAll(e, ids[:3]), store.HasAll(e, ids), store.HasAll(e, nil)}, nil)
		for _, key := range []string{"key/0", "none"} {
			c, err := e.ByKey(ctx, key)
			add("key "+key, c, err)
		}
		add("cosines", [][]float64{e.Cosines([]float32{0.6, 0.8}, []store.Ref{0, 1, 1 << 30}), e.Cosines([]float32{1}, []store.Ref{0}), e.Cosines(nil, nil)}, nil)
		names := []string{"", "nobody"}
		for name, f := range filters {
			var all []store.NameCount
			for c, err := range e.Names(ctx, f) {
				must(t, err)
				all, names = append(all, c), append(names, c.Name)
			}
			add(name+" names", all, nil)
			for _, o := range []store.OutlineOptions{{}, {Aspects: 1, Top: 1, Links: 1}} {
				outlines, err := e.Outlines(ctx, []string{"", "nobody", "services", "service1", "ports"}, f, o)
				add(fmt.Sprint(name, " outlines ", o), outlines, err)
			}
		}
		slices.Sort(names)
		add("known", e.Known(slices.Compact(names)), nil)
		none, err := e.Outlines(ctx, nil, &ken.Filter{}, store.OutlineOptions{})
		add("no outlines", [][]any{{none}, {e.Known(nil)}}, err)
		embedded, total := e.Coverage()
		add("counts", []any{embedded, total, e.Len(), e.Refs(), e.Seq(), e.Owner(), e.Dir()}, nil)
		known, err := e.DocumentHashes(ctx)
		add("documents", known, err)
		orphans, err := e.Orphans(ctx)
		add("orphans", orphans, err)
		report, err := e.VerifyLog(ctx)
		add("verify", report, err)
		var events []*store.Event
		for ev, err := range e.Events(ctx, 3) {
			must(t, err)
			events = append(events, ev)
		}
		add("events", events, nil)
		var claims []ken.Claim
		for c, err := range e.Claims(ctx) {
			must(t, err)
			claims = append(claims, c)
		}
		add("claims", claims, nil)
		n, err := e.EmbedMissing(ctx)
		add("embed", n, err)
		return out
	}
	want, got := ask(s.disk), ask(s.Client)
	for name := range want {
		if diff := cmp.Diff(want[name], got[name], cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-store +client):\n%s", name, diff)
		}
	}
	again := ask(s.Client) // from the client's cache
	for name := range want {
		if diff := cmp.Diff(want[name], again[name]); diff != "" {
			t.Errorf("%s, asked again (-store +client):\n%s", name, diff)
		}
	}
}

func codeOf(err error) ken.Code {
	if e, ok := errors.AsType[*ken.Error](err); ok {
		return e.Code
	}
	return ""
}

// TestAClientSeesWhatOthersChange checks that a client's cache is invalidated when another
// client changes a record.
func TestAClientSeesWhatOthersChange(t *testing.T) {
	s, ids := populated(t)
	ctx := context.Background()
	other := dial(t, s, nil)
	find := func(text string) store.Ref {
		t.Helper()
		res, err := s.Keyword(ctx, text, &ken.Filter{Statuses: ken.Statuses()}, 1)
		must(t, err)
		if len(res.Hits) == 0 {
			t.Fatalf("nothing is found by %q", text)
		}
		return res.Hits[0].Ref
	}
	ref := find("service9")
	before, ok := s.Row(ref)
	c, err := s.Claim(ctx, ref)
	if must(t, err); !ok || before.Facts.Status != ken.StatusObserved || c.Status != ken.StatusObserved {
		t.Fatalf("%+v", before)
	}
	must(t, other.Transition(ctx, ken.Transition{ID: ids[9], To: ken.StatusVerified}))
	if got := find("service9"); got != ref {
		t.Fatalf("ref %d became %d", ref, got)
	}
	row, _ := s.Row(ref)
	c, err = s.Claim(ctx, ref)
	if must(t, err); row.Facts.Status != ken.StatusVerified || row.Version == before.Version || c.Status != ken.StatusVerified {
		t.Errorf("after a change elsewhere it has %+v and %s", row.Facts, c.Status)
	}
	_, err = other.Forget(ctx, ids[9], "", ken.Actor{})
	must(t, err)
	if s.Has(ids[9]) {
		t.Error("a claim that was forgotten elsewhere is there")
	}
	res, err := s.Keyword(ctx, "port", &ken.Filter{Statuses: ken.Statuses()}, 100) // any answer carries the new commit number
	must(t, err)
	if slices.ContainsFunc(res.Hits, func(h store.Hit) bool { return h.Ref == ref }) {
		t.Error("it is found")
	}
	if _, ok := s.Row(ref); ok {
		t.Error("its row is there")
	}
	if _, err := s.Claim(ctx, ref); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("it can be read: %v", err)
	}
}

// TestRowsThatWereDroppedComeBackTogether checks that after a write has invalidated the cache,
// the rows are read again in one round trip.
func TestRowsThatWereDroppedComeBackTogether(t *testing.T) {
	s, _ := populated(t)
	ctx := context.Background()
	res, err := s.Keyword(ctx, "port", &ken.Filter{}, 100)
	must(t, err)
	write(t, s.disk, claim(t, "something new"))
	if s.Seq() == 0 { // this answer carries the new commit number
		t.Fatal("no answer")
	}
	trips := s.Trips()
	for _, h := range res.Hits {
		if _, ok := s.Row(h.Ref); !ok {
			t.Errorf("row %d is gone", h.Ref)
		}
	}
	if n := s.Trips() - trips; n != 1 {
		t.Errorf("%d rows took %d trips", len(res.Hits), n)
	}
}

// TestAWalkOverAllRowsTakesFewTrips checks that reading all rows in order, as calibration and
// cleanup do, takes few round trips.
func TestAWalkOverAllRowsTakesFewTrips(t *testing.T) {
	s, _ := populated(t)
	for range 2 {
		write(t, s.disk, claim(t, "something new"))
		trips := s.Trips()
		n := 0
		for ref := range store.Ref(s.Refs()) {
			if _, ok := s.Row(ref); ok {
				n++
			}
		}
		if took := s.Trips() - trips; n < 40 || took > 3 {
			t.Errorf("%d rows took %d trips", n, took)
		}
	}
}

// TestASearchBringsWhatATurnAsks checks that after a search, reading the rows, forms and
// neighbours that a turn needs takes no round trip.
func TestASearchBringsWhatATurnAsks(t *testing.T) {
	s, _ := populated(t)
	ctx := context.Background()
	res, err := s.Keyword(ctx, "port", &ken.Filter{}, 100)
	must(t, err)
	refs := make([]store.Ref, len(res.Hits))
	trips := s.Trips()
	for i, h := range res.Hits {
		refs[i] = h.Ref
		before, after := s.Around(h.Ref, 3)
		for _, ref := range append(before, after...) {
			s.Row(ref)
			s.Form(ref)
			s.Around(ref, 2)
		}
		s.Row(h.Ref)
	}
	for _, c := range res.Cut {
		s.Row(c.Ref)
	}
	if n := s.Trips() - trips; n != 0 {
		t.Errorf("it took %d trips more", n)
	}
	store.Fetch(ctx, s.Client, refs)
	store.Fetch(ctx, s.Client, refs)
	for _, ref := range refs {
		_, err := s.Claim(ctx, ref)
		must(t, err)
	}
	if n := s.Trips() - trips; n != 1 {
		t.Errorf("reading %d claims took %d trips", len(refs), n)
	}
}
