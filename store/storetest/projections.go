package storetest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// Readable is a store that a turn can retrieve from.
type Readable interface {
	ken.Store
	store.Projections
}

// RunProjections tests the stores that open returns against the contract of
// store.Projections. Options.Embed and Dim are always set.
func RunProjections[S Readable](t *testing.T, open func(t *testing.T, o Options) S) {
	tests := []struct {
		name string
		run  func(k *kit, p Readable)
	}{
		{"FilterHoldsOnEveryLeg", testLegs},
		{"Keyword", testKeywordLeg},
		{"Vector", testVectorLeg},
		{"Pinned", testPinnedLeg},
		{"Newest", testNewest},
		{"NewestFollowsChanges", testNewestFollows},
		{"Rows", testRows},
		{"Versions", testVersions},
		{"Parts", testParts},
		{"Around", testAround},
		{"Cosines", testCosines},
		{"Stale", testStale},
		{"EmbedderFails", testEmbedderFails},
		{"Referring", testReferring},
		{"Outlines", testOutlines},
		{"OutlinesOrder", testOutlinesOrder},
		{"OutlinesFilter", testOutlinesFilter},
		{"OutlinesFollowChanges", testOutlinesFollow},
		{"OutlinesMentioned", testOutlinesMentioned},
		{"OutlinesForget", testOutlinesForget},
		{"OutlinesOfOwners", testOutlinesOwners},
		{"Names", testNames},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, func(t *testing.T, o Options) ken.Store {
				o.Embed, o.Dim = embed, len(axes)
				return open(t, o)
			})
			tt.run(k, k.s.(Readable))
		})
	}
}

// axes are the words that have an axis of their own in the vector space of the tests.
var axes = []string{"amber", "birch", "copper", "ledger"}

var errEmbed = &ken.Error{Code: ken.CodeUnavailable, Msg: "the embedder is down"}

// embed returns the unit vector in the direction of the axes whose words a text
// contains. A text without such a word has no vector, and one with "unembeddable"
// fails.
func embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if strings.Contains(text, "unembeddable") {
			return nil, errEmbed
		}
		var has []int
		for axis, word := range axes {
			if strings.Contains(text, word) {
				has = append(has, axis)
			}
		}
		if len(has) == 0 {
			continue
		}
		out[i] = make([]float32, len(axes))
		for _, axis := range has {
			out[i][axis] = float32(1 / math.Sqrt(float64(len(has))))
		}
	}
	return out, nil
}

func vectorOf(text string) []float32 {
	v, _ := embed(context.Background(), []string{text})
	return v[0]
}

// legs are the search methods, each with a query that matches the whole population.
var legs = []struct {
	name   string
	search func(k *kit, p Readable, f *ken.Filter, limit int) (store.Result, error)
	common func(*ken.Claim) // what makes every claim a candidate of the leg
	out    []string         // names in the population that the leg never finds
}{
	{"keyword", func(k *kit, p Readable, f *ken.Filter, limit int) (store.Result, error) {
		return p.Keyword(k.ctx, "ledger", f, limit)
	}, func(*ken.Claim) {}, nil},
	{"vector", func(k *kit, p Readable, f *ken.Filter, limit int) (store.Result, error) {
		return p.Vector(k.ctx, vectorOf("ledger"), f, limit)
	}, func(*ken.Claim) {}, nil},
	{"pinned", func(k *kit, p Readable, f *ken.Filter, limit int) (store.Result, error) {
		return p.Pinned(k.ctx, f, limit)
	}, func(c *ken.Claim) { c.Kind = ken.KindHot }, []string{"playbook", "document"}},
	{"newest", func(k *kit, p Readable, f *ken.Filter, limit int) (store.Result, error) {
		return p.Newest(k.ctx, f, limit)
	}, func(*ken.Claim) {}, nil},
	{"newest of small kinds", func(k *kit, p Readable, f *ken.Filter, limit int) (store.Result, error) {
		narrow := *f
		if narrow.Kinds == nil {
			narrow.Kinds = []ken.Kind{ken.KindEpisode, ken.KindPlaybook, ken.KindObjective}
		}
		return p.Newest(k.ctx, &narrow, limit)
	}, func(c *ken.Claim) { c.Kind = ken.KindEpisode }, []string{"document"}},
}

func testLegs(k *kit, _ Readable) {
	for _, leg := range legs {
		k.sub(leg.name, func(k *kit) {
			p := k.s.(Readable)
			names := populate(k, p, leg.common)
			for _, tt := range filters {
				f := tt.filter
				f.Now = filterTime
				kept := f
				res, err := leg.search(k, p, &f, many)
				if err != nil {
					k.Errorf("%s: %v", tt.name, err)
					continue
				}
				if got, want := refNames(p, names, res.Hits), without(tt.want, leg.out...); !sameSet(got, want) {
					k.Errorf("%s: got %q, want %q", tt.name, got, want)
				}
				checkCut(k, p, &f, res)
				if !cmp.Equal(kept, f) {
					k.Errorf("%s: the caller's filter became %+v", tt.name, f)
				}
			}
		})
	}
}

// checkCut checks that each rejected record has the filter's reason.
func checkCut(k *kit, p Readable, f *ken.Filter, res store.Result) {
	k.Helper()
	for _, cut := range res.Cut {
		row, ok := p.Row(cut.Ref)
		if want := f.Reject(row.Facts); !ok || cut.Reason != want || want == "" {
			k.Errorf("cut %+v for %q, want %q", row.Facts, cut.Reason, want)
		}
		if slices.ContainsFunc(res.Hits, func(h store.Hit) bool { return h.Ref == cut.Ref }) {
			k.Errorf("record %d is both found and cut", cut.Ref)
		}
	}
}

// found returns the claims that a leg found, in its order.
func found(k *kit, p Readable, res store.Result, err error) []string {
	k.Helper()
	k.must(err)
	var out []string
	for _, h := range res.Hits {
		row, ok := p.Row(h.Ref)
		if !ok {
			k.Errorf("hit %d has no row", h.Ref)
		}
		out = append(out, row.ID)
	}
	return out
}

// byWord and byVector check which claims a search for text finds, in their order.
func (k *kit) byWord(p Readable, text string, want ...string) {
	k.Helper()
	res, err := p.Keyword(k.ctx, text, &ken.Filter{}, many)
	if got := found(k, p, res, err); !slices.Equal(got, want) {
		k.Errorf("by keyword %q finds %v, want %v", text, got, want)
	}
}

func (k *kit) byVector(p Readable, text string, want ...string) {
	k.Helper()
	res, err := p.Vector(k.ctx, vectorOf(text), &ken.Filter{}, many)
	if got := found(k, p, res, err); !slices.Equal(got, want) {
		k.Errorf("by vector %q finds %v, want %v", text, got, want)
	}
}

// covers checks how many records have a vector.
func (k *kit) covers(p Readable, embedded, total int) {
	k.Helper()
	if e, n := p.Coverage(); e != embedded || n != total {
		k.Errorf("covers %d of %d, want %d of %d", e, n, embedded, total)
	}
}

func testKeywordLeg(k *kit, p Readable) {
	one := k.write("amber and something else")
	both := k.write("amber birch")
	k.write("copper")
	k.byWord(p, "amber birch", both, one)
	res, err := p.Keyword(k.ctx, "amber birch", &ken.Filter{}, many)
	k.must(err)
	if a, b := res.Hits[0], res.Hits[1]; !(a.Score > b.Score && b.Score > 0) || !(a.Share > b.Share && b.Share > 0) || a.Share > 1 {
		k.Errorf("scores %+v, %+v", a, b)
	}
	res, err = p.Keyword(k.ctx, "amber birch", &ken.Filter{}, 1)
	if got := found(k, p, res, err); !slices.Equal(got, []string{both}) {
		k.Errorf("with limit 1 found %v", got)
	}
	for _, text := range []string{"", "   ", "the of and", "zebra"} {
		k.byWord(p, text)
	}
}

func testVectorLeg(k *kit, p Readable) {
	exact := k.write("amber")
	near := k.write("amber birch")
	far := k.write("copper")
	nowhere := k.write("a claim without direction")
	res, err := p.Vector(k.ctx, vectorOf("amber"), &ken.Filter{}, 2)
	if got := found(k, p, res, err); !slices.Equal(got, []string{exact, near}) {
		k.Fatalf("found %v, want %s before %s", got, exact, near)
	}
	if s := res.Hits[0].Score; s < 0.999 || s > 1.001 {
		k.Errorf("the same direction has cosine %v", s)
	}
	if s := res.Hits[1].Score; s < 0.706 || s > 0.709 {
		k.Errorf("half the direction has cosine %v, want 1/√2", s)
	}
	res, err = p.Vector(k.ctx, vectorOf("amber"), &ken.Filter{}, many)
	if got := found(k, p, res, err); slices.Contains(got, nowhere) || !slices.Contains(got, far) {
		k.Errorf("found %v: a text without a vector has no place in the space, %s has", got, far)
	}
	for _, dim := range []int{1, len(axes) - 1, len(axes) + 1} {
		k.wantErr(errOf(p.Vector(k.ctx, make([]float32, dim), &ken.Filter{}, many)), ken.ErrInvalid, "")
	}
}

func testPinnedLeg(k *kit, p Readable) {
	kind := func(kind ken.Kind) func(*ken.Claim) { return func(c *ken.Claim) { c.Kind = kind } }
	hot := k.write("hot", kind(ken.KindHot))
	for _, other := range []ken.Kind{ken.KindFact, ken.KindEpisode, ken.KindPlaybook, ken.KindFinding, ken.KindDecision, "own"} {
		k.write("never pinned", kind(other))
	}
	k.write("proposed", kind(ken.KindPattern), withStatus(ken.StatusHypothesis))
	pattern := k.write("approved", kind(ken.KindPattern))
	objective := k.write("objective", kind(ken.KindObjective))
	old := k.write("written last, of long ago", kind(ken.KindHot), func(c *ken.Claim) { c.CreatedAt = epoch.AddDate(-1, 0, 0) })
	want := []string{objective, pattern, hot, old}
	res, err := p.Pinned(k.ctx, &ken.Filter{}, many)
	if got := found(k, p, res, err); !slices.Equal(got, want) {
		k.Errorf("pinned %v, want %v", got, want)
	}
	res, err = p.Pinned(k.ctx, &ken.Filter{}, 2)
	if got := found(k, p, res, err); !slices.Equal(got, want[:2]) {
		k.Errorf("with limit 2 pinned %v", got)
	}
}

func testRows(k *kit, p Readable) {
	const nobody = store.Ref(1 << 30)
	if row, ok := p.Row(nobody); ok {
		k.Errorf("an unknown record has row %+v", row)
	}
	k.wantErr(errOf(p.Claim(k.ctx, nobody)), ken.ErrNotFound, "")
	k.covers(p, 0, 0)

	id := k.write("amber", func(c *ken.Claim) {
		c.Scope, c.Constraint, c.ExpiresAt = repoA, true, epoch.AddDate(1, 0, 0)
		c.CreatedAt = epoch.Add(-time.Hour)
		c.Evidence = []ken.Evidence{ken.FromTestResult("A", ""), ken.FromGitHistory("r", "c", "")}
		c.Evidence[1].FetchedAt = epoch.Add(-time.Minute)
	})
	want := k.get(id)
	res, err := p.Keyword(k.ctx, "amber", &ken.Filter{}, 1)
	if err != nil || len(res.Hits) != 1 {
		k.Fatalf("%+v, %v", res, err)
	}
	ref := res.Hits[0].Ref
	row, ok := p.Row(ref)
	wantRow := store.Row{ID: id, Facts: want.Facts(), Support: want.Support(nil), CreatedAt: want.CreatedAt, Constraint: true}
	wantRow.Facts.ExpiresAt = row.Facts.ExpiresAt // a filter has its own copy: see FilterHoldsOnEveryLeg
	wantRow.Version = row.Version
	if diff := cmp.Diff(wantRow, row); !ok || diff != "" {
		k.Errorf("row (-want +got):\n%s", diff)
	}
	got, err := p.Claim(k.ctx, ref)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		k.Errorf("claim: %v (-want +got):\n%s", err, diff)
	}
	k.covers(p, 1, 1)
}

// The parts of a keyword score add up to the score, and the values of the record's
// terms to its share.
func testParts(k *kit, p Readable) {
	k.write("amber amber birch")
	k.write("a longer text with copper in it")
	res, err := p.Keyword(k.ctx, "amber birch copper nowhere", &ken.Filter{}, many)
	if err != nil || len(res.Hits) != 2 || len(res.Values) != 4 || len(res.Terms) != 4 || !slices.Contains(res.Terms, "amber") {
		k.Fatalf("%+v, %v", res, err)
	}
	for _, h := range res.Hits {
		if len(h.Parts) != len(res.Values) {
			k.Fatalf("%d parts for %d values", len(h.Parts), len(res.Values))
		}
		score, share := 0.0, 0.0
		for i, part := range h.Parts {
			if score += float64(part); part > 0 {
				share += float64(res.Values[i])
			}
		}
		if math.Abs(score-h.Score) > 1e-5 || math.Abs(min(1, share)-h.Share) > 1e-5 {
			k.Errorf("parts add up to %v and %v, not to %v and %v", score, share, h.Score, h.Share)
		}
	}
}

// Cosines returns for any record what Vector returns for its hits.
func testCosines(k *kit, p Readable) {
	for _, text := range []string{"amber", "amber birch", "copper", "nothing that has a vector"} {
		k.write(text)
	}
	res, err := p.Vector(k.ctx, vectorOf("amber"), &ken.Filter{}, many)
	if err != nil || len(res.Hits) != 3 || res.Query == nil {
		k.Fatalf("%+v, %v", res, err)
	}
	refs := []store.Ref{1 << 30}
	want := []float64{0}
	for _, h := range res.Hits {
		refs, want = append(refs, h.Ref), append(want, h.Share)
	}
	got := p.Cosines(res.Query, refs)
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		k.Errorf("cosines (-want +got):\n%s", diff)
	}
	if got := p.Cosines([]float32{1}, refs[:1]); len(got) != 1 || got[0] != 0 {
		k.Errorf("a query of another dimension: %v", got)
	}
}

// Around returns a session's records in the order of creation, and none of another
// session.
func testAround(k *kit, p Readable) {
	names := map[store.Ref]string{}
	refs := map[string]store.Ref{}
	write := func(text, session string, minute int) {
		id := k.write(text, func(c *ken.Claim) { c.Session, c.CreatedAt = session, epoch.Add(time.Duration(minute)*time.Minute) })
		res, err := p.Keyword(k.ctx, text, &ken.Filter{}, 1)
		if err != nil || len(res.Hits) != 1 {
			k.Fatalf("%s: %+v, %v", text, res, err)
		}
		if row, ok := p.Row(res.Hits[0].Ref); !ok || row.ID != id {
			k.Fatalf("%s: row %+v", text, row)
		}
		names[res.Hits[0].Ref], refs[text] = text, res.Hits[0].Ref
	}
	write("first", "s", 1)
	write("other", "t", 2)
	write("fourth", "s", 4)
	write("loner", "", 3)
	write("second", "s", 2)
	write("third", "s", 3)
	for _, tt := range []struct {
		of            string
		n             int
		before, after string
	}{
		{"second", 3, "first", "third fourth"},
		{"third", 1, "second", "fourth"},
		{"fourth", 2, "third second", ""},
		{"other", 3, "", ""},
		{"loner", 3, "", ""},
	} {
		text := func(list []store.Ref) string {
			var out []string
			for _, ref := range list {
				out = append(out, names[ref])
			}
			return strings.Join(out, " ")
		}
		before, after := p.Around(refs[tt.of], tt.n)
		if text(before) != tt.before || text(after) != tt.after {
			k.Errorf("around %s: %q and %q, want %q and %q", tt.of, text(before), text(after), tt.before, tt.after)
		}
	}
	if before, after := p.Around(1<<30, 3); before != nil || after != nil {
		k.Errorf("an unknown record is among %v and %v", before, after)
	}
	if f := p.Form(refs["first"]); f.Words != 1 {
		k.Errorf("form %+v", f)
	}
	if f := p.Form(1 << 30); f != (analysis.Form{}) {
		k.Errorf("an unknown record has form %+v", f)
	}
}

// A claim's old text must not find it, by any search.
func testStale(k *kit, p Readable) {
	id := k.write("amber", withKey("k"))
	k.write("birch", withKey("k"))
	k.byWord(p, "amber") // it was revised away
	res, err := p.Vector(k.ctx, vectorOf("amber"), &ken.Filter{}, many)
	if err != nil || len(res.Hits) != 1 || res.Hits[0].Score > 0.5 {
		k.Errorf("compared by an old vector: %+v, %v", res.Hits, err)
	}

	next := k.write("birch, anew")
	k.supersede(id, next)
	k.byWord(p, "birch", next)
	k.byVector(p, "birch", next)
	k.covers(p, 2, 2)
}

// An embedder that fails must not fail the write, nor hide that it failed.
func testEmbedderFails(k *kit, p Readable) {
	good := k.write("amber")
	bad := k.write("amber unembeddable")
	res, err := p.Keyword(k.ctx, "amber", &ken.Filter{}, many)
	if got := found(k, p, res, err); !sameSet(got, []string{good, bad}) {
		k.Errorf("by keyword %v, want both", got)
	}
	k.byVector(p, "amber", good)
	k.covers(p, 1, 2)

	id := k.write("amber", withKey("k"))
	k.write("copper unembeddable", withKey("k"))
	res, err = p.Vector(k.ctx, vectorOf("amber"), &ken.Filter{}, many)
	if got := found(k, p, res, err); slices.Contains(got, id) {
		k.Error("a text that could not be embedded is compared by the vector of the text before it")
	}
	k.covers(p, 1, 3)

	over := ended(k.ctx)
	if _, err := p.Keyword(over, "amber", &ken.Filter{}, many); !errors.Is(err, context.Canceled) {
		k.Errorf("a keyword search that was cancelled: %v", err)
	}
}

// at is a claim of a kind, created on a day of the tests' calendar.
func at(kind ken.Kind, day int) func(*ken.Claim) {
	return func(c *ken.Claim) { c.Kind, c.CreatedAt = kind, epoch.AddDate(0, 0, day-60) }
}

func testNewest(k *kit, p Readable) {
	written := map[ken.Kind][]string{} // newest last
	for day := range 4 {
		for _, kind := range []ken.Kind{ken.KindEpisode, ken.KindFinding, "own", ken.KindFact, ken.KindHot, ken.KindPattern, ken.KindDecision, ken.KindPlaybook} {
			written[kind] = append(written[kind], k.write("ledger", at(kind, day)))
		}
	}
	newest := func(limit int, kinds ...ken.Kind) []string {
		res, err := p.Newest(k.ctx, &ken.Filter{Kinds: kinds}, limit)
		return found(k, p, res, err)
	}
	backwards := func(kind ken.Kind) []string {
		out := slices.Clone(written[kind])
		slices.Reverse(out)
		return out
	}
	for kind := range written {
		if got, want := newest(3, kind), backwards(kind)[:3]; !slices.Equal(got, want) {
			k.Errorf("newest of %s: %v, want %v", kind, got, want)
		}
	}
	e, f := written[ken.KindEpisode], written[ken.KindFinding]
	merged := []string{f[3], e[3], f[2], e[2], f[1]} // of one moment, the last written first
	for _, kinds := range [][]ken.Kind{{ken.KindEpisode, ken.KindFinding}, {ken.KindFinding, ken.KindEpisode, ken.KindFinding}} {
		if got := newest(5, kinds...); !slices.Equal(got, merged) {
			k.Errorf("newest of %s: %v, want %v", kinds, got, merged)
		}
	}
	if got := newest(many); len(got) != 4*len(written) || got[0] != written[ken.KindPlaybook][3] {
		k.Errorf("newest of every kind: %v", got)
	}
	if got := newest(3, ken.KindFact, ken.KindEpisode); !slices.Equal(got, []string{written[ken.KindFact][3], e[3], written[ken.KindFact][2]}) {
		k.Errorf("newest of a large kind and a small one: %v", got)
	}
	for _, limit := range []int{0, -1} {
		if got := newest(limit, ken.KindEpisode); len(got) != 0 {
			k.Errorf("a limit of %d finds %v", limit, got)
		}
	}
	if got := newest(many, "nobody"); len(got) != 0 {
		k.Errorf("a kind that nothing is of: %v", got)
	}
	over := ended(k.ctx)
	if _, err := p.Newest(over, &ken.Filter{Kinds: []ken.Kind{ken.KindEpisode}}, 1); !errors.Is(err, context.Canceled) {
		k.Errorf("a cancelled search: %v", err)
	}
}

// Newest returns the same as a scan of all claims, after random writes, supersessions
// and changes of kind, in any order of creation times.
func testNewestFollows(k *kit, p Readable) {
	rng := rand.New(rand.NewPCG(4, 4))
	kinds := []ken.Kind{ken.KindEpisode, ken.KindFinding, ken.KindFact}
	var ids []string
	for range 150 {
		id := k.write("ledger", at(kinds[rng.IntN(3)], rng.IntN(20)), withKey(string(rune('a'+rng.IntN(26)))),
			withStatus([]ken.Status{ken.StatusObserved, ken.StatusHypothesis}[rng.IntN(2)]))
		if rng.IntN(10) == 0 && len(ids) > 0 {
			err := k.s.Supersede(k.ctx, ids[rng.IntN(len(ids))], id)
			if err != nil && !errors.Is(err, ken.ErrRefused) && !errors.Is(err, ken.ErrInvalid) { // superseded already, or by itself
				k.Fatal(err)
			}
		}
		ids = append(ids, id)
		f := ken.Filter{Kinds: []ken.Kind{kinds[rng.IntN(2)]}}
		limit := 1 + rng.IntN(5)
		var want []time.Time
		for _, c := range k.query(ken.Query{Question: "ledger", Filter: f, Limit: many}) {
			want = append(want, c.CreatedAt)
		}
		slices.SortFunc(want, func(a, b time.Time) int { return b.Compare(a) })
		res, err := p.Newest(k.ctx, &f, limit)
		k.must(err)
		if len(res.Cut) > limit {
			k.Fatalf("%d cuts for a limit of %d", len(res.Cut), limit)
		}
		checkCut(k, p, &f, res)
		var got []time.Time
		for _, h := range res.Hits {
			row, _ := p.Row(h.Ref)
			if why := f.Reject(row.Facts); why != "" {
				k.Fatalf("%s is refused for %s", row.ID, why)
			}
			got = append(got, row.CreatedAt)
		}
		if !slices.EqualFunc(got, want[:min(limit, len(want))], time.Time.Equal) {
			k.Fatalf("newest %v, want %v", got, want[:min(limit, len(want))])
		}
	}
}

// The version changes whenever the record does.
func testVersions(k *kit, p Readable) {
	id := k.write("ledger", withKey("k"))
	other := k.write("ledger, another")
	seen := map[uint64]bool{}
	version := func() uint64 {
		k.Helper()
		res, err := p.Newest(k.ctx, &ken.Filter{Statuses: ken.Statuses()}, many)
		k.must(err)
		for _, h := range res.Hits {
			if row, ok := p.Row(h.Ref); ok && row.ID == id {
				return row.Version
			}
		}
		k.Fatal("the record is gone")
		return 0
	}
	fresh := func(after string) {
		k.Helper()
		v := version()
		if seen[v] {
			k.Errorf("version %d again after %s", v, after)
		}
		seen[v] = true
	}
	fresh("writing")
	k.write("ledger, revised", withKey("k"))
	fresh("a revision")
	k.transition(id, ken.StatusVerified)
	fresh("a transition")
	k.supersede(id, other)
	fresh("a supersession")
	last := version()
	k.write("ledger, a third")
	if version() != last {
		k.Error("the version changes though the record does not")
	}
}
