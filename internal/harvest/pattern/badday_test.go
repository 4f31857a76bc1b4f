package pattern

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/simulate"
)

func TestSessionOfFiveThousandMessages(t *testing.T) {
	tr := &session.Transcript{Info: session.Info{About: session.About{ID: "long"}}}
	for _, s := range simulate.Work(9, 400) {
		for _, e := range transcript(s).Entries {
			if len(tr.Entries) < 5000 {
				e.Seq = uint64(len(tr.Entries) + 1)
				tr.Entries = append(tr.Entries, e)
			}
		}
	}
	if got := Extract(tr, finding.Tools{}); len(got) == 0 || len(got) > MaxPatterns {
		t.Errorf("%d patterns of %d messages", len(got), len(tr.Entries))
	}
}

func TestExtractIsDeterministic(t *testing.T) {
	for _, s := range simulate.Work(4, 20) {
		first := fmt.Sprint(texts(s))
		for range 5 {
			if again := fmt.Sprint(texts(s)); again != first {
				t.Fatalf("%s: %s\n%s", s.ID, first, again)
			}
		}
	}
}

func texts(s simulate.Session) (out []string) {
	for _, c := range Extract(transcript(s), finding.Tools{}) {
		out = append(out, c.Key+" "+c.Text+" "+string(c.Body))
	}
	return out
}

// A harvest that is done twice, after a crash, must find what it wrote.
func TestSameSessionGivesTheSameKeysAndEvidence(t *testing.T) {
	a, b := newScript().run("make check", 0, ""), newScript().run("make check", 0, "")
	x, y := a.patterns()[0], b.patterns()[0]
	if x.Key != y.Key || x.Evidence[0].Reference() != y.Evidence[0].Reference() {
		t.Errorf("%+v\n%+v", x, y)
	}
	// The same command in another session is the same piece of evidence: a command
	// that ran twice is not two proofs.
	b.Info.ID = "s2"
	if y = b.patterns()[0]; x.Evidence[0].Reference() != y.Evidence[0].Reference() {
		t.Error("a second session makes a second piece of one command")
	}
}

// The line as it ran may hold anything; what the body keeps of it is bounded.
func TestLongLinesAreNoPattern(t *testing.T) {
	long := "make " + strings.Repeat("target ", 100)
	if got := newScript().run(long, 0, "").texts(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	padded := "A=" + strings.Repeat("x", 400) + " make check"
	c := newScript().run(padded, 0, "").patterns()[0]
	if b := body(t, c); c.Text != "Shell command succeeds: make check" || len(b.AsRun) > maxAsRun {
		t.Errorf("%q, as run %d bytes", c.Text, len(b.AsRun))
	}
}

// The older form of tool calls has no ids: a file's evidence names the message.
func TestCallsWithoutIDs(t *testing.T) {
	s := newScript().edit("a.go").edit("a.go")
	for i := range s.Entries {
		m := &s.Entries[i].Message
		for j := range m.ToolCalls {
			m.ToolCalls[j].ID = ""
		}
		if m.Role == "tool" {
			m.Role, m.Name, m.ToolCallID = "function", "Edit", ""
		}
	}
	got := s.patterns()
	if len(got) != 1 || got[0].Evidence[0].ToolCallID != "m2" {
		t.Fatalf("%+v", got)
	}
	if err := got[0].Validate(); err != nil {
		t.Error(err)
	}
}
