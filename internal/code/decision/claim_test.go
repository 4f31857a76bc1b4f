package decision

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

func TestClaim(t *testing.T) {
	r, _ := Parse("docs/decisions/0042-log.md", []byte(madr4))
	c, err := Claim(r)
	if err != nil {
		t.Fatal(err)
	}
	e := c.Evidence[0]
	if len(c.Evidence) != 1 || e.Kind != ken.EvidenceFile || e.ContentHash != r.Hash || e.Line != 39 || c.Source != "docs/decisions/0042-log.md:39" {
		t.Errorf("%+v", c.Evidence)
	}
	if got := c.Support(nil); got.Tier != ken.Inferred || got.Trust != ken.TrustAgent {
		t.Errorf("a file is %v", got)
	}
	if got := c.Support(func(e ken.Evidence) bool { return false }); got.Tier != ken.Guessed {
		t.Errorf("a file that has changed is %v", got)
	}
	if c.Heading != "ADR-0042 Use an append-only log" || c.Kind != ken.KindDecision || c.Status != ken.StatusObserved || !c.CreatedAt.Equal(r.Date) {
		t.Errorf("%+v", c)
	}
	if !strings.HasPrefix(c.Text, "Decision: Chosen option: \"bbolt\"") || !strings.HasSuffix(c.Text, "Also considered: SQLite; A file of our own") {
		t.Error(c.Text)
	}
	if diff := cmp.Diff([]string{"internal/rules", "store.Shelf"}, c.Entities); diff != "" {
		t.Error(diff)
	}
	var b Body
	if err := json.Unmarshal(c.Body, &b); err != nil || b.Handle != "ADR-0042" || b.Supersedes[0] != "ADR-0012" {
		t.Error(b, err)
	}
	r.Hash, r.Decision.Text, r.ModTime = "sha256:1", "another", time.Unix(9, 0)
	if again, err := Claim(r); err != nil || again.ID != c.ID || again.Key != c.Key {
		t.Error("an edited file is another claim")
	}
}

func TestClaimStatus(t *testing.T) {
	for status, want := range map[string]ken.Status{"proposed": ken.StatusHypothesis, "accepted": ken.StatusObserved, "rejected": ken.StatusDisputed,
		"deprecated": ken.StatusSuperseded, "superseded by ADR-0009": ken.StatusSuperseded, "odd": ken.StatusHypothesis} {
		r, _ := Parse("adr/0001-x.md", []byte("# 1. X\n\nStatus: "+status+"\n\n## Decision\n\nb\n"))
		c, err := Claim(r)
		if err != nil || c.Status != want {
			t.Errorf("%s: %s, %v", status, c.Status, err)
		}
		if in := strings.Contains(c.Heading, "("); in != (want != ken.StatusObserved) {
			t.Error(c.Heading)
		}
	}
	// The steps that records take are those that ken allows to claims.
	for _, step := range [][2]Status{{Proposed, Accepted}, {Proposed, Rejected}, {Accepted, Superseded}, {Accepted, Deprecated}, {Accepted, Rejected}} {
		if err := ken.CheckTransition(claimStatus(step[0]), claimStatus(step[1]), ""); err != nil {
			t.Error(step, err)
		}
	}
	if ken.CheckTransition(ken.StatusHypothesis, ken.StatusVerified, "") == nil {
		t.Error("then an accepted proposal could be verified after all: see Claim")
	}
}

func TestClaimIsShortAndClean(t *testing.T) {
	long := strings.Repeat("Ein Wort für alle. ", 2000)
	r, _ := Parse("adr/0001-x.md", []byte("# 1. X\n\nStatus: accepted\n\n## Context\n\n"+long+"\n\n## Decision\n\nUse token "+"ghp_"+"x8Kd02LmQz7RtYw4BvNc6HsJp1Gf3EaUo95i"+". <think>secret plan</think>\n\n"+long+"\n\n## Consequences\n\n"+long+"\n"))
	c, err := Claim(r)
	if err != nil {
		t.Fatal(err)
	}
	if n := utf8.RuneCountInString(c.Text); n > maxClaimText || n < maxClaimText/2 {
		t.Errorf("%d characters", n)
	}
	for _, want := range []string{"Decision: ", "\n\nContext: ", "\n\nConsequences: "} {
		if !strings.Contains(c.Text, want) {
			t.Errorf("no %q in %q", want, c.Text)
		}
	}
	if strings.Contains(c.Text, "ghp_") || strings.Contains(c.Text, "secret plan") {
		t.Error(c.Text)
	}
}

func TestCutTextClosesCode(t *testing.T) {
	const text = "Before.\n\n```go\na := 1\n```\n\nBetween.\n\n```go\nb := 2\nc := 3\n```\n\nBehind."
	for most := 10; most < len(text)+2; most++ {
		got := cutText(text, most)
		if strings.Count(got, "```")%2 != 0 || utf8.RuneCountInString(got) > most || got != text && !strings.HasSuffix(got, "…") {
			t.Errorf("%d: %q", most, got)
		}
	}
}

func TestTargets(t *testing.T) {
	src := "---\ngoverns: [internal/rules, \"./store/**\", Shelf]\n---\n# 1. About `store.Shelf`\n\nStatus: accepted\n\n## Decision\n\n" +
		"The `Shelf`, `internal/rules/`, `memory/`, `server.py`, `_main()`, `run()`, `graph/llm.py:12`, `tests/a.py::test_b`, `a2a_handler`, `AppState`, `pkg::Type`.\n" +
		"Not `true`, `--flag`, `GET /api/x`, `DISCORD_BOT_TOKEN`, `enabled`, `a b`, `x = y`, `https://example.org/a.go`, `and/or words`, `1.2.3`, `#12`.\n" +
		"In prose: see docs/a/b.go, and/or cmd/ken; PascalCase is a word. [file](../../cmd/main.go) [doc](x.md) [web](https://x.org/y.go)\n" +
		"```\n`Hidden`\n```\n`Shelf` again and `docs/a/b.go`.\n"
	r, problems := Parse("docs/adr/0001-x.md", []byte(src))
	if len(problems) > 0 {
		t.Error(problems)
	}
	var exact, guess []string
	for _, target := range Targets(r) {
		if target.Exact {
			exact = append(exact, target.Name)
		} else {
			guess = append(guess, target.Name+":"+digits(target.Line))
		}
	}
	if diff := cmp.Diff([]string{"internal/rules", "store/**", "Shelf"}, exact); diff != "" {
		t.Error(diff)
	}
	want := []string{"store.Shelf:4", "memory/:10", "server.py:10", "_main:10", "run:10", "graph/llm.py:10", "tests/a.py:10", "a2a_handler:10", "AppState:10", "pkg::Type:10", "docs/a/b.go:12", "cmd/main.go:12"}
	if diff := cmp.Diff(want, guess); diff != "" {
		t.Error(diff)
	}
}
