package decision

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/evaldata"
)

// fieldsFound counts in how many records each field was found, and lists the records without it.
func fieldsFound(records []Record) (n map[string]int, without map[string][]string) {
	n, without = map[string]int{}, map[string][]string{}
	for _, r := range records {
		add := func(name string, found bool) {
			if found {
				n[name]++
			} else {
				without[name] = append(without[name], r.ID.Text)
			}
		}
		add("number", r.Number >= 0)
		add("title", r.Title.Text != "")
		add("status", r.Status != Unknown)
		add("date", !r.Date.IsZero())
		add("deciders", len(r.Deciders) > 0)
		add("tags", len(r.Tags) > 0)
		add("preamble", r.Preamble.Found())
		add("context", r.Context.Found())
		add("drivers", len(r.Drivers) > 0)
		add("options", len(r.Options) > 0)
		add("decision", r.Decision.Found())
		add("consequences", r.Consequences.Found())
		add("more", r.More.Found())
		add("supersedes", len(r.Supersedes) > 0)
		add("superseded by", len(r.SupersededBy) > 0)
		add("links", len(r.Links) > 0)
		add("extra", len(r.Extra) > 0)
		add("targets", len(Targets(r)) > 0)
		add("accepted", r.Status == Accepted)
		add("proposed", r.Status == Proposed)
		add("superseded", r.Status == Superseded)
	}
	return n, without
}

// The lower bounds were checked by hand on 15 files (0001, 0007, 0014, 0015, 0024, 0030, 0041, 0048, 0065, 0069, 0079,
// 0084, 0094, 0096, 0103): what was not found there is not in the file. 0014 has no section on context or decision,
// 0048 calls its context "Why this was reopened", and 40 of the records name no options.
func TestRealRecords(t *testing.T) {
	r := openAt(t, evaldata.Dir(t, "adr"), Options{Folders: []string{"."}})
	records := r.List()
	n, without := fieldsFound(records)
	for _, name := range slices.Sorted(mapKeys(n)) {
		missing := ""
		if few := without[name]; len(few) > 0 && len(few) < 15 {
			missing = "; not in " + strings.Join(few, ", ")
		}
		t.Logf("%-14s %3d of %d%s", name, n[name], len(records), missing)
	}
	if len(records) != 104 {
		t.Fatalf("%d records of 105 files; index.md is none", len(records))
	}
	for name, floor := range map[string]int{"number": 104, "title": 104, "status": 104, "context": 102, "decision": 103, "consequences": 104,
		"date": 65, "deciders": 36, "tags": 32, "options": 64, "drivers": 5, "more": 35, "superseded by": 3, "supersedes": 3, "targets": 104, "accepted": 90, "proposed": 11} {
		if n[name] < floor {
			t.Errorf("%s in %d records, was in %d", name, n[name], floor)
		}
	}
	for old, by := range map[string]string{"24": "ADR-0025", "30": "ADR-0067", "34": "ADR-0038"} {
		h, err := r.History(old)
		if err != nil || len(h) != 2 || h[1].Handle != by || h[0].Status != Superseded {
			t.Errorf("history of %s: %v, %v", old, h, err)
		}
	}
	if n["superseded"] != 3 {
		t.Errorf("%d superseded, 0024, 0030 and 0034 are", n["superseded"])
	}
	for _, p := range r.Problems() {
		t.Logf("%s:%d: %s", p.Path, p.Line, p.Text)
	}
	for _, rec := range records {
		if _, err := Claim(rec); err != nil {
			t.Error(rec.Path, err)
		}
	}
}

// question is a query, and the record that answers it.
type question struct{ path, text string }

// questionSets reads testdata/questions.tsv; a comment starts a new set.
func questionSets(t testing.TB) (sets [][]question) {
	t.Helper()
	b, err := os.ReadFile("testdata/questions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	inSet := false
	for l := range strings.Lines(string(b)) {
		if strings.HasPrefix(l, "#") {
			inSet = false
			continue
		}
		path, text, ok := strings.Cut(strings.TrimSpace(l), "\t")
		if !ok {
			t.Fatalf("no tab in %q", l)
		}
		if !inSet {
			sets, inSet = append(sets, nil), true
		}
		sets[len(sets)-1] = append(sets[len(sets)-1], question{path, text})
	}
	return sets
}

// Queries use other words than the records. The first set of questions was used to tune the search. The second set was
// written afterwards, from the records alone.
func TestRealQuestions(t *testing.T) {
	r := openAt(t, evaldata.Dir(t, "adr"), Options{Folders: []string{"."}})
	sets := questionSets(t)
	if len(sets) != 2 {
		t.Fatalf("%d sets of questions", len(sets))
	}
	for i, floor := range []struct{ first, five int }{{32, 36}, {26, 34}} {
		first, five := 0, 0
		for _, q := range sets[i] {
			hits := r.Search(Query{Words: q.text, Limit: 5}).Hits
			at := slices.IndexFunc(hits, func(h Hit) bool { return h.Record.Path == q.path })
			switch {
			case at == 0:
				first++
				five++
			case at > 0:
				five++
			default:
				t.Logf("not among five: %s (%s)", q.text, q.path)
			}
		}
		t.Logf("set %d: first %d, among five %d of %d", i+1, first, five, len(sets[i]))
		if len(sets[i]) != 40 || first < floor.first || five < floor.five {
			t.Errorf("set %d: first %d, among five %d of %d questions; were %d and %d", i+1, first, five, len(sets[i]), floor.first, floor.five)
		}
	}
}

// All of Ken's own records are read without problems.
func TestOwnRecords(t *testing.T) {
	if _, err := os.Stat("../../../docs/decisions"); err != nil {
		t.Skip("no folder docs/decisions beside this package")
	}
	r := openAt(t, "../../..", Options{Folders: []string{"docs/decisions"}})
	records := r.List()
	n, _ := fieldsFound(records)
	t.Log(n)
	if len(records) < 19 || n["status"] != len(records) || n["date"] != len(records) || n["context"] != len(records) || n["decision"] != len(records) || n["consequences"] != len(records) {
		t.Errorf("%d records: %v", len(records), n)
	}
	h, err := r.History("7")
	if err != nil || len(h) != 2 || h[1].Number != 9 {
		t.Error(h, err)
	}
	for _, p := range r.Problems() {
		t.Errorf("%s:%d: %s", p.Path, p.Line, p.Text)
	}
}
