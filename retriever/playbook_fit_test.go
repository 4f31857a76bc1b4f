package retriever_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed/builtin"
	"github.com/kenlayer/ken/intent"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// manual is a playbook of the test's collection, with turns that it is for.
type manual struct {
	name, text string
	turns      []string
}

// manuals reads testdata/playbooks.md. The last one has no text: nothing in the
// collection is for its turns.
func manuals(t testing.TB) (out []manual) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "playbooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq("\n"+string(b), "\n# ") {
		name, rest, ok := strings.Cut(part, "\n")
		if !ok || name == "" {
			continue
		}
		m := manual{name: name}
		var text []string
		for line := range strings.SplitSeq(rest, "\n") {
			if q, ok := strings.CutPrefix(line, "? "); ok {
				m.turns = append(m.turns, q)
			} else {
				text = append(text, line)
			}
		}
		m.text = strings.TrimSpace(strings.Join(text, "\n"))
		out = append(out, m)
	}
	return out
}

// asker is a store with the collection and what else is said, searched as turns
// search it.
type asker struct {
	t    testing.TB
	s    *bolt.Store
	legs map[string][]retriever.Source
}

func newAsker(t testing.TB, also []string) *asker {
	t.Helper()
	e, err := builtin.Open()
	if err != nil {
		t.Fatal(err)
	}
	s, err := bolt.Open(t.Context(), t.TempDir(), bolt.Options{Embedder: e, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	var in []store.Incoming
	for _, m := range manuals(t) {
		if m.text != "" {
			in = append(in, store.Incoming{Claim: claim(t, m.text, func(c *ken.Claim) { c.Kind, c.Heading = ken.KindPlaybook, m.name })})
		}
	}
	for _, text := range also {
		in = append(in, store.Incoming{Claim: claim(t, text)})
	}
	for _, o := range s.Import(t.Context(), in) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	words := []retriever.Source{retriever.Keyword(s), retriever.Playbooks(s, retriever.NewPlaybookCache())}
	return &asker{t, s, map[string][]retriever.Source{"keyword": words, "hybrid": append(words[:2:2], retriever.Vector(s, e))}}
}

// playbooks returns the playbooks of a turn, best first.
func (a *asker) playbooks(mode, question string) (out []string) {
	r := retriever.New(a.s, retriever.Options{Sources: a.legs[mode]})
	found := r.Retrieve(a.t.Context(), retriever.Turn{Signals: intent.Analyze([]ken.Message{{Role: "user", Text: question}})})
	for _, c := range found.Candidates {
		if _, ok := c.Sources[retriever.SourcePlaybooks]; !ok {
			continue
		}
		full, err := a.s.Claim(a.t.Context(), c.Ref)
		if err != nil {
			a.t.Fatal(err)
		}
		out = append(out, full.Heading)
	}
	return out
}

// Turns that a playbook fits get it if they share a word with its description.
// Turns about other subjects get none, even if they have words like "version",
// "team" and "customer".
func TestPlaybooksFitTheirTurns(t *testing.T) {
	a := newAsker(t, nil)
	for mode, want := range map[string]struct{ right, wrong, unrelated int }{
		"hybrid":  {right: 30, wrong: 2, unrelated: 0},
		"keyword": {right: 26, wrong: 0, unrelated: 0},
	} {
		t.Run(mode, func(t *testing.T) {
			turns, right, wrong, unrelated := 0, 0, 0, 0
			for _, m := range manuals(t) {
				for _, q := range m.turns {
					got := a.playbooks(mode, q)
					switch {
					case m.text == "":
						if len(got) > 0 {
							unrelated++
							t.Logf("%q gets %q", q, got)
						}
						continue
					case len(got) > 0 && got[0] == m.name:
						right++
					case len(got) > 0:
						wrong++
						t.Logf("%q gets %q, want %s", q, got, m.name)
					default:
						t.Logf("%q gets none, want %s", q, m.name)
					}
					turns++
				}
			}
			t.Logf("of %d turns %d right, %d wrong; %d of the unrelated get one", turns, right, wrong, unrelated)
			if right < want.right || wrong > want.wrong || unrelated > want.unrelated {
				t.Errorf("%d right, %d wrong, %d unrelated; want at least %d, at most %d and %d", right, wrong, unrelated, want.right, want.wrong, want.unrelated)
			}
		})
	}
}

// Questions to other people's collections, which no playbook here was written
// for. Those of beam-dev are about building web applications. A playbook for
// adding an endpoint, or for deploying, does fit some of them.
func TestForeignQuestionsGetNoPlaybook(t *testing.T) {
	race.SkipLong(t)
	for set, most := range map[string]float64{"locomo-dev": 0.005, "cosqa-dev": 0.02, "beam-dev": 0.08} {
		t.Run(set, func(t *testing.T) {
			dir := evaldata.Dir(t, set)
			a := newAsker(t, rows(t, filepath.Join(dir, "corpus.jsonl"), 1500))
			questions := rows(t, filepath.Join(dir, "queries.jsonl"), 400)
			for mode := range a.legs {
				got := 0
				for _, q := range questions {
					if p := a.playbooks(mode, q); len(p) > 0 {
						if got++; got <= 5 {
							t.Logf("%s: %.100q gets %q", mode, q, p)
						}
					}
				}
				t.Logf("%s: %d of %d get one", mode, got, len(questions))
				if float64(got) > most*float64(len(questions)) {
					t.Errorf("%s: %d of %d questions get a playbook, want %g at most", mode, got, len(questions), most)
				}
			}
		})
	}
}

// rows reads the first texts of a data set's file.
func rows(t testing.TB, path string, most int) (out []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() && len(out) < most {
		var row struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", path, err))
		}
		if strings.TrimSpace(row.Text) != "" {
			out = append(out, row.Text)
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
