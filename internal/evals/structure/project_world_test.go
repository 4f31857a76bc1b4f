package structure_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/kenlayer/ken"
)

// There are two invented projects. Rules and traversal were developed on
// testdata/project, a freight platform. testdata/heldout, a hospital's archive of
// images, was written by an author who had seen neither, and was run at the end. Each
// has a team's statements and records (facts.tsv), questions with the records that
// answer them (questions.tsv), and the true dependencies (world.tsv). Of the last, a
// layer gets only the alternative names.
var projects = []string{"project", "heldout"}

type world struct {
	facts     []record
	questions []question
	near      map[string][]string // an entity and those one step from it
	names     []otherName         // that an operator tells
}

type otherName struct{ other, entity string }

// record is a fact; binds is what it is a rule for, "-" for none.
type record struct{ key, kind, binds, from, text string }

// question has the entity that it is about, "-" for none, and the keys of the
// records that answer it.
type question struct {
	slice, focal string
	gold         []string
	text         string
}

// rows reads a table of tab-separated fields.
func rows(t testing.TB, dir, name string, fields int) (out [][]string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + dir + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != fields {
			t.Fatalf("%s: %d fields in %q", name, len(f), line)
		}
		out = append(out, f)
	}
	return out
}

func project(t testing.TB, dir string) world {
	t.Helper()
	w := world{near: map[string][]string{}}
	for _, f := range rows(t, dir, "facts.tsv", 5) {
		w.facts = append(w.facts, record{f[0], f[1], f[2], f[3], f[4]})
	}
	for _, f := range rows(t, dir, "world.tsv", 4) {
		w.step(f[0], f[0])
		for other := range strings.SplitSeq(f[2], ",") {
			if other != "" {
				w.names = append(w.names, otherName{other, f[0]})
			}
		}
		for to := range strings.SplitSeq(f[3], ",") {
			if to != "" {
				w.step(f[0], to)
				w.step(to, f[0])
			}
		}
	}
	for _, f := range rows(t, dir, "questions.tsv", 4) {
		q := question{slice: f[0], focal: f[1], text: f[3]}
		if f[2] != "" {
			q.gold = strings.Split(f[2], ",")
		}
		w.questions = append(w.questions, q)
	}
	return w
}

func (w *world) step(from, to string) {
	if !slices.Contains(w.near[from], to) {
		w.near[from] = append(w.near[from], to)
	}
}

// rules returns the keys of what a question's block must contain: the rules of what it
// is about and of direct dependencies.
func (w *world) rules(q *question) (keys []string) {
	for _, r := range w.facts {
		if r.binds != "-" && slices.Contains(w.near[q.focal], r.binds) {
			keys = append(keys, r.key)
		}
	}
	return keys
}

// owed returns the rules of a question's entity that contain its name, if the
// question contains it too. They can't be missed, whatever entities claims were
// filed under. The others are rules by what only the team knows.
func (w *world) owed(q *question) (keys []string) {
	names := []string{q.focal}
	for _, n := range w.names {
		if n.entity == q.focal {
			names = append(names, n.other)
		}
	}
	says := func(text string) bool {
		text = " " + plainWords(text) + " "
		return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(text, " "+plainWords(n)+" ") })
	}
	if q.focal == "-" || !says(q.text) {
		return nil
	}
	for _, r := range w.facts {
		if r.binds == q.focal && says(r.text) {
			keys = append(keys, r.key)
		}
	}
	return keys
}

// plainWords are the words of a text, in lower case.
func plainWords(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

// claim returns a record as a claim with text and evidence, without entities.
func (r *record) claim(t testing.TB) ken.Claim {
	t.Helper()
	e := ken.FromHumanAssertion("interview", time.Time{}, r.key)
	switch path, file := strings.CutPrefix(r.from, "file:"); {
	case file:
		e = ken.FromFile(path, "", "")
	case r.from == "test":
		e = ken.FromTestResult(r.key, "")
	}
	c, err := ken.NewClaim(r.text, e)
	if err != nil {
		t.Fatal(err)
	}
	c.Key, c.Kind = r.key, ken.Kind(r.kind)
	return c
}
