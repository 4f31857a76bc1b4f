package extract_test

import (
	"cmp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/run/session"
)

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// holds checks what is true of every draft, whatever the transcript.
func holds(t testing.TB, tr *session.Transcript, d draft.Draft, o extract.Options) {
	t.Helper()
	facts, chars, summary := cmp.Or(o.MaxFacts, 40), cmp.Or(o.FactChars, extract.DefaultFactChars), cmp.Or(o.SummaryChars, extract.DefaultSummaryChars)
	if len(d.Statements) > facts {
		t.Errorf("%d statements, want at most %d", len(d.Statements), facts)
	}
	if n := utf8.RuneCountInString(d.Summary); n > summary {
		t.Errorf("a summary of %d characters, want at most %d", n, summary)
	}
	if d.Summary != "" && !strings.HasSuffix(d.Summary, "without a model.)") {
		t.Errorf("the summary does not say how it was made: %q", d.Summary)
	}
	bySeq := map[uint64]*session.Entry{}
	for i := range tr.Entries {
		bySeq[tr.Entries[i].Seq] = &tr.Entries[i]
	}
	var before uint64
	seen := map[string]bool{}
	for _, s := range d.Statements {
		e := bySeq[s.Seq]
		switch {
		case e == nil:
			t.Fatalf("%q is of message %d, which is not there", s.Text, s.Seq)
		case s.Quote == "" || !strings.Contains(squeeze(e.Message.Text), s.Quote):
			t.Errorf("the quote %q is not in message %d", s.Quote, s.Seq)
		case e.Message.Role == "tool":
			t.Errorf("%q is a tool's", s.Text)
		case utf8.RuneCountInString(s.Text) > chars:
			t.Errorf("a statement of %d characters: %q", utf8.RuneCountInString(s.Text), s.Text)
		case s.Seq < before:
			t.Errorf("message %d after %d", s.Seq, before)
		case seen[s.Text]:
			t.Errorf("%q twice", s.Text)
		case s.Confidence <= 0 || s.Confidence > 1:
			t.Errorf("confidence %v", s.Confidence)
		case !utf8.ValidString(s.Text) && valid(tr):
			t.Errorf("%q is cut within a character", s.Text)
		}
		before, seen[s.Text] = s.Seq, true
	}
	if !utf8.ValidString(d.Summary) && valid(tr) {
		t.Error("the summary is cut within a character")
	}
	if d.Model != "" {
		t.Errorf("model %q", d.Model)
	}
}

func valid(tr *session.Transcript) bool {
	for i := range tr.Entries {
		m := &tr.Entries[i].Message
		if !utf8.ValidString(m.Text) || !utf8.ValidString(m.Name) {
			return false
		}
		for _, c := range m.ToolCalls {
			if !utf8.ValidString(c.Arguments) {
				return false
			}
		}
	}
	return true
}
