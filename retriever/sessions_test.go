package retriever_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
)

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

// A session's own episodes, of which a long one has several, are no news to it,
// and take nobody's place.
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
	for i, l := range []func(store.Projections) retriever.Leg{retriever.Sessions,
		func(p store.Projections) retriever.Leg { return retriever.Playbooks(p, nil) }} {
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

// An episode that bears on the turn is knowledge, whole; the digest is for the
// others, and for one that the words found and the floor or the pool cut.
func TestEpisodesAreFoundOnce(t *testing.T) {
	sessions := says(retriever.LegSessions, refs(3, 2, 1)...)
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
		"not found otherwise": {retriever.Options{Legs: []retriever.Leg{sessions, says(retriever.LegKeyword, refs(0)...)}},
			[]string{"3 memory", "2 memory", "1 memory", "0"}, map[string]ken.CutReason{}},
		"found": {retriever.Options{Legs: []retriever.Leg{sessions, says(retriever.LegKeyword, refs(2, 0)...)}},
			[]string{"3 memory", "1 memory", "2 recent", "0"}, map[string]ken.CutReason{}},
		"found with too little evidence": {retriever.Options{Legs: []retriever.Leg{sessions, says(retriever.LegKeyword, poor...)}},
			[]string{"3 memory", "2 memory", "1 memory", "0"}, map[string]ken.CutReason{}},
		"found behind others": {retriever.Options{TopK: 1, Legs: []retriever.Leg{sessions, says(retriever.LegKeyword, refs(0, 2, 4)...)}},
			[]string{"3 memory", "2 memory", "1 memory", "0"}, map[string]ken.CutReason{"4": ken.CutPool}},
		"beyond the pool": {retriever.Options{Pool: 1, Legs: []retriever.Leg{sessions, says(retriever.LegKeyword, refs(0, 2, 4)...)}},
			[]string{"3 memory", "2 memory", "1 memory", "0"}, map[string]ken.CutReason{"4": ken.CutPool}},
		"pinned": {retriever.Options{Legs: []retriever.Leg{sessions, says(retriever.LegPinned, refs(2)...)}},
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

// A recent episode that is knowledge says in its legs that it is recent too.
func TestRecentKnowledgeNamesTheSessionsLeg(t *testing.T) {
	got := retrieve(t, records(3), retriever.Options{Legs: []retriever.Leg{says(retriever.LegSessions, refs(2, 1)...), says(retriever.LegKeyword, refs(1)...)}})
	c := got.Candidates[len(got.Candidates)-1]
	equal(t, "rank", c.Legs[retriever.LegSessions].Rank, 2)
	equal(t, "rank among the words", c.Legs[retriever.LegKeyword].Rank, 1)
	equal(t, "sessions", got.Sessions, 1)
}

// The legs of memory are no search: without the others, nothing was searched.
func TestMemoryLegsAreNoMode(t *testing.T) {
	s := memory.New(memory.Options{Now: func() time.Time { return day }})
	got := retriever.New(s, retriever.Options{Legs: []retriever.Leg{retriever.Sessions(s), retriever.Playbooks(s, nil)}}).Retrieve(t.Context(), retriever.Turn{})
	equal(t, "mode", got.Mode, ken.ModeNone)
	equal(t, "degraded", got.Degraded, []string(nil))
}
