package consolidate

import (
	"slices"
	"testing"
	"time"
)

// Whatever two texts are, judging them ends, says one of the relations with a
// reason, and gives the mirrored judgement when they are exchanged.
func FuzzCompare(f *testing.F) {
	for _, file := range []string{"development.jsonl", "second.jsonl", "third.jsonl"} {
		for i, j := range load(f, file) {
			if i%4 == 0 {
				f.Add(j.Old, j.New)
			}
		}
	}
	f.Add("", "a")
	f.Add("\xff\xfe", "’s 's n't =")
	f.Add("no no not never", "never not no")
	f.Add("a a a", "a a")
	f.Add("PORT=80,443—", "->")
	f.Fuzz(func(t *testing.T, a, b string) {
		ab, ba := Compare(Statement{Text: a}, Statement{Text: b}), Compare(Statement{Text: b}, Statement{Text: a})
		for _, v := range []Verdict{ab, ba} {
			if v.Why == "" || v.Score < 0 || v.Score > 1 {
				t.Fatalf("%+v", v)
			}
		}
		x, y := read(a), read(b)
		mirrored := []Relation{ab.Relation}
		switch ab.Relation {
		case Restates:
			mirrored = []Relation{Restates, Refines} // the richer one may be either
		case Refines:
			mirrored = []Relation{Restates}
		case Updates, Contradicts, Distinct:
			if x.weak+x.strong+y.weak+y.strong != "" || ab.Relation == Updates || ba.Relation == Updates {
				return // who says "now" is the newer one
			}
		}
		if !slices.Contains(mirrored, ba.Relation) {
			t.Fatalf("%q, %q: %+v one way, %+v the other", a, b, ab, ba)
		}
	})
}

// A statement is the same as itself, whatever else is known about it.
func FuzzCompareItself(f *testing.F) {
	for _, j := range load(f, "development.jsonl")[:40] {
		f.Add(j.Old, "Notes", int64(5))
	}
	f.Fuzz(func(t *testing.T, text, heading string, hours int64) {
		s := Statement{Text: text, Heading: heading}
		later := s
		later.At = time.Unix(0, 0).Add(time.Duration(hours%1e5) * time.Hour)
		if v := Compare(s, later); v.Relation != Same && len(read(text).words) > 0 {
			t.Fatalf("%q: %+v", text, v)
		}
	})
}
