package extract_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// blockChars is the budget of a turn's block.
const blockChars = 6000

var namespace = uuid.MustParse("0b9c5f0e-1f39-5a5e-9a40-3f1c64a5d1a7")

// remembered is one way of keeping a corpus.
type remembered struct {
	claims  map[string][]ken.Claim // by owner
	session map[string]string      // of a claim
	message map[string]string      // of a claim: evidenceKey
}

func newRemembered() *remembered {
	return &remembered{claims: map[string][]ken.Claim{}, session: map[string]string{}, message: map[string]string{}}
}

func (r *remembered) add(owner string, kind ken.Kind, tr *session.Transcript, at time.Time, who, text string, seq uint64, entities []string) {
	list := r.claims[owner]
	if n := len(list); n > 0 && !at.After(list[n-1].CreatedAt) { // in the order in which it was said
		at = list[n-1].CreatedAt.Add(time.Second)
	}
	if at.IsZero() {
		at = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	key := fmt.Sprintf("%s/%s/%d/%d", owner, tr.Info.ID, seq, len(list))
	c := ken.Claim{ID: uuid.NewSHA1(namespace, []byte(key)).String(), Key: key, Kind: kind, Text: text, Status: ken.StatusObserved,
		Confidence: 1, Importance: 0.5, Session: tr.Info.ID, Actor: ken.Actor{Type: who}, Source: "session", SourceType: "harvest", CreatedAt: at,
		Entities: entities, Evidence: []ken.Evidence{ken.FromMessage(tr.Info.ID, evidenceKey("m", seq), "")}}
	r.claims[owner] = append(list, c)
	r.session[c.ID], r.message[c.ID] = tr.Info.ID, evidenceKey(tr.Info.ID, seq)
}

// raw keeps every message as it was said.
func raw(c *corpus) *remembered {
	r := newRemembered()
	for _, owner := range c.owners {
		for i := range c.sessions[owner] {
			tr := &c.sessions[owner][i]
			for _, e := range tr.Entries {
				text := e.Message.Text
				if e.Message.Name != "" {
					text = e.Message.Name + ": " + text
				}
				r.add(owner, ken.KindFact, tr, e.At, e.Message.Role, text, e.Seq, nil)
			}
		}
	}
	return r
}

// harvested keeps of every session its episode and its statements.
func harvested(c *corpus, draftOf func(*session.Transcript) draft.Draft) (r *remembered, sessions int) {
	r = newRemembered()
	for _, owner := range c.owners {
		for i := range c.sessions[owner] {
			tr := &c.sessions[owner][i]
			d := draftOf(tr)
			for _, s := range d.Statements {
				r.add(owner, ken.KindFact, tr, tr.Entries[s.Seq-1].At, "user", s.Text, s.Seq, s.Entities)
			}
			if d.Summary != "" {
				r.add(owner, ken.KindEpisode, tr, tr.Info.Active, "system", d.Summary, 0, nil)
			}
			sessions++
		}
	}
	return r, sessions
}

// figures are means over a corpus's questions.
type figures struct {
	n        int
	session  float64 // the part of a question's evidence sessions that the block holds something of
	any, all float64 // questions with one of them, with each of them
	message  float64 // the part of the messages with evidence that something in the block was taken from
	answer   float64 // the part of the answer's words that the block holds
	silent   float64 // questions whose turn gets no block
	answers  int
	claims   int
	chars    int // of all claims
}

// ask opens a layer with the defaults over what is remembered, and asks.
func ask(t testing.TB, c *corpus, r *remembered) figures {
	t.Helper()
	now := time.Date(2026, time.June, 1, 0, 0, 0, 0, time.UTC)
	cfg := config.Default()
	cfg.Budget.MemoryChars = 0 // recent sessions come by themselves: here a question has to find them
	cfg.Knowledge.DBPath = filepath.Join(t.TempDir(), "state")
	l, err := middleware.Open(t.Context(), middleware.Options{Root: t.TempDir(), Config: &cfg, Strict: true, Foreground: true,
		Now: func() time.Time { return now }, NewID: func() string { return "question" }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	var f figures
	for _, owner := range c.owners {
		s, release, err := l.Store(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		in := make([]store.Incoming, len(r.claims[owner]))
		for i, claim := range r.claims[owner] {
			claim.Owner = owner
			in[i].Claim = claim
			f.claims++
			f.chars += len([]rune(claim.Text))
		}
		for _, out := range s.Import(t.Context(), in) {
			if out.Err != nil {
				t.Fatal(out.Err)
			}
		}
		release()
		if _, err := l.Operator().Calibrate(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
	}
	for i := range c.questions {
		q := &c.questions[i]
		a := l.Assemble(t.Context(), ken.Turn{Owner: q.owner, Messages: []ken.Message{{Role: "user", Text: q.text}}})
		if a.Receipt.Chars > blockChars {
			t.Fatalf("%q: a block of %d characters", q.text, a.Receipt.Chars)
		}
		f.count(q, r, &a.Receipt)
	}
	f.mean()
	return f
}

func (f *figures) count(q *question, r *remembered, got *ken.Receipt) {
	sessions, messages, words := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, item := range got.Items {
		sessions[r.session[item.ID]] = true
		messages[r.message[item.ID]] = true
	}
	for _, term := range analysis.Terms(got.Block) {
		words[term] = true
	}
	found, quoted := 0, 0
	for id := range q.sessions {
		if sessions[id] {
			found++
		}
	}
	for key := range q.messages {
		if messages[key] {
			quoted++
		}
	}
	f.n++
	f.session += float64(found) / float64(len(q.sessions))
	if found > 0 {
		f.any++
	}
	if found == len(q.sessions) {
		f.all++
	}
	if len(q.messages) > 0 {
		f.message += float64(quoted) / float64(len(q.messages))
	}
	if terms := analysis.Terms(q.answer); len(terms) > 0 {
		held := 0
		for _, term := range terms {
			if words[term] {
				held++
			}
		}
		f.answer += float64(held) / float64(len(terms))
		f.answers++
	}
	if strings.TrimSpace(got.Block) == "" {
		f.silent++
	}
}

func (f *figures) mean() {
	n := float64(f.n)
	f.session, f.any, f.all, f.message, f.silent = f.session/n, f.any/n, f.all/n, f.message/n, f.silent/n
	if f.answers > 0 {
		f.answer /= float64(f.answers)
	}
}
