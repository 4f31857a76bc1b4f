package bolt_test

import (
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// What was written while the clock was ahead is no newer than what is written after it was
// set right, as soon as the store is opened then.
func TestWhatWasWrittenByAFastClock(t *testing.T) {
	dir := t.TempDir()
	right := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	begin := func(now time.Time) *bolt.Store {
		s, err := bolt.Open(t.Context(), dir, bolt.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	write := func(s *bolt.Store, text string, e ken.Evidence) string {
		id, err := s.WriteClaim(t.Context(), ken.Claim{Kind: ken.KindEpisode, Text: text, Evidence: []ken.Evidence{e}})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	s := begin(right.AddDate(50, 0, 0))
	write(s, "from the fast clock", ken.FromUserStatement("s", "m"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = begin(right)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = begin(right.Add(time.Hour))
	defer s.Close()
	now := write(s, "from the right clock", ken.FromUserStatement("s", "m"))
	res, err := s.Newest(t.Context(), &ken.Filter{Kinds: []ken.Kind{ken.KindEpisode}}, 2)
	if err != nil || len(res.Hits) != 2 {
		t.Fatal(res, err)
	}
	for i, h := range res.Hits {
		row, _ := s.Row(h.Ref)
		if at := right.Add(time.Hour); row.CreatedAt.After(at) || row.Support.NewestAt.After(at) {
			t.Errorf("hit %d is of %v, its newest evidence of %v", i, row.CreatedAt, row.Support.NewestAt)
		}
	}
	// Both are of now, and of these the one that was written later comes first.
	s2, _ := s.Row(res.Hits[0].Ref)
	if s2.ID != now {
		t.Errorf("the newest is %s, want %s", s2.ID, now)
	}
}
