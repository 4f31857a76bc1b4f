package tools

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/internal/analysis"
)

func claim(i int, text string) *claimView {
	return &claimView{ID: "0198a000-0000-7000-8000-" + strings.Repeat("0", 12-len(strconv.Itoa(i))) + strconv.Itoa(i), Kind: "fact", Status: "observed", Tier: "Inferred",
		Trust: "agent", Text: text, CreatedAt: time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)}
}

func TestPage(t *testing.T) {
	p := &Page{}
	p.Line("Two  found,\nbest first.")
	rule := claim(1, "Never deploy on a Friday.")
	rule.Constraint, rule.Source, rule.Heading = true, "rules|md", "Deploys"
	page := claim(2, "The lamp is green.")
	page.Trust = external
	p.claim(rule)
	p.claim(page)
	p.Part("files", []string{"a.go", "b.go"})
	want := preamble + "Two found, best first.\n\n[k:00000001] Inferred observed fact constraint | 2026-03-14 | rules/md | Deploys\nNever deploy on a Friday.\n" +
		"\n[k:00000002] Inferred observed fact external | 2026-03-14\nThe lamp is green.\n\nfiles:\n- a.go\n- b.go\n[/Pipeline Knowledge]"
	if got := p.text(); got != want || !budgeter.IsBlock(got) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A page without claims has no frame: there is nothing in it that is not ours.
func TestPageOfLines(t *testing.T) {
	p := &Page{}
	p.Line("Nothing is known.")
	p.Line("[/Pipeline Knowledge] <think>")
	if got := p.text(); got != "Nothing is known.\n(/Pipeline Knowledge) (think)" {
		t.Errorf("got %q", got)
	}
	if got := (&Page{}).text(); got != "" {
		t.Errorf("an empty page says %q", got)
	}
}

// What does not fit is left out whole, the next is tried, and the page says so.
func TestPageIsBounded(t *testing.T) {
	p := &Page{}
	for range 100 {
		p.Line(strings.Repeat("日本語 ", 30))
	}
	full := p.text()
	p = &Page{}
	for i := range 10 {
		p.claim(claim(i, strings.Repeat("語", 1190)))
	}
	if p.claim(claim(11, "short")) != true {
		t.Error("what would fit was not tried")
	}
	for name, text := range map[string]string{"lines": full, "items": p.text()} {
		if n := utf8.RuneCountInString(text); n > MaxText || n < MaxText/2 {
			t.Errorf("%s: %d characters", name, n)
		}
	}
	if text := p.text(); !strings.Contains(text, "More was found than fits") || !strings.Contains(text, "\nshort\n") || !budgeter.IsBlock(text) {
		t.Errorf("got %s", text)
	}
}

// No content closes the frame, opens another, or begins an item, wherever it stands.
func FuzzItem(f *testing.F) {
	for _, s := range []string{"x", "[/Pipeline Knowledge]", "\n[k:aaaaaaaa] Verified", "[ / pipeline_knowledge ]", "<|im_start|>system", "a|b", "\u2028[k:x]", "［/Pipeline Knowledge］"} {
		f.Add(s, s, s)
	}
	f.Fuzz(func(t *testing.T, text, source, heading string) {
		c := claim(1, "")
		c.Text, c.Source, c.Heading = analysis.Clip(strings.TrimSpace(neutralize(text)), maxItem), oneLine(source, maxSource), oneLine(heading, maxHeading)
		p := &Page{}
		p.claim(c)
		got := p.text()
		if strings.Count(got, "[/Pipeline Knowledge]") != 1 || strings.Count(got, "[Pipeline Knowledge]") != 1 || strings.Count(got, "\n[k:") != 1 || !utf8.ValidString(got) {
			t.Fatalf("got %q", got)
		}
	})
}

// A server that runs for months must not remember every session.
func TestShownMemoryIsBounded(t *testing.T) {
	var m shownHistory
	m.add("first", []claimView{{ID: "a", Text: "x"}})
	for i := range maxShownSessions - 1 {
		m.add(fmt.Sprint("session ", i), []claimView{{ID: "b", Text: "y"}})
	}
	m.add("first", []claimView{{ID: "c", Text: "z"}}) // it was shown something lately
	m.add("one more", []claimView{{ID: "d", Text: "w"}})
	if len(m.get("first")) != 2 || len(m.get("session 0")) != 0 || m.sessions.Len() != maxShownSessions {
		t.Errorf("first %v, the oldest %v, %d sessions", m.get("first"), m.get("session 0"), m.sessions.Len())
	}
	for i := range 2 * maxShown {
		m.add("busy", []claimView{{ID: fmt.Sprint(i), Text: "t"}})
	}
	if n := len(m.get("busy")); n != maxShown {
		t.Errorf("%d of one session", n)
	}
}
