package cases_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evals/cases"
)

func TestParse(t *testing.T) {
	f := parse(t, "\uFEFF"+`
owner: team
project: payments
scopes: repo:a
now: 2031-05-01
given: just a text
canaries: [one]
cases:
  - name: everything
    conversation: [{system: Be brief.}, {user: "When?"}, {tool: at noon}]
    project: billing
    scopes: ["repo:b", "run:7"]
    now: 2031-05-02T10:00:00+02:00
    given:
      - text: |
          Two
          lines.
        session: s1
        branch: main
        scope: repo:b
        constraint: true
        tags: [x, y]
        confidence: 0.5
        body: {n: 1, deep: [true, 2.5, null]}
        expires_at: 2031-06-01
      - {text: Bob's., owner: bob, scope: {type: run, id: "7"}}
    canaries: two
    must_recall: [words, {text: more words, within: 3}]
    must_not_recall: {regexp: 'a.b'}
    must_inject: {source: docs/}
    must_not_inject: {id: 3f9a1c}
    within: 9
    block_empty: false
    max_chars: 500
    mode: hybrid
    other_owner_sees_nothing: bob
  - {name: little, ask: "Where?", mode: none}
`)
	c := f.Cases[0]
	g := c.Given[1].Claim
	for what, ok := range map[string]bool{
		"owner": c.Owner == "team", "project": c.Project == "billing", "scopes": slices.Equal(c.Scopes, []ken.Scope{{Type: "repo", ID: "b"}, {Type: "run", ID: "7"}}),
		"now": c.Now.Equal(time.Date(2031, 5, 2, 8, 0, 0, 0, time.UTC)), "messages": len(c.Messages) == 3 && c.Messages[2].Role == "tool" && c.Messages[1].Text == "When?",
		"given": len(c.Given) == 3 && c.Given[0].Claim.Text == "just a text" && c.Given[0].Claim.Owner == "team",
		"claim": g.Text == "Two\nlines." && g.Session == "s1" && g.Branch == "main" && g.Scope.ID == "b" && g.Constraint && len(g.Tags) == 2 &&
			g.Confidence == 0.5 && string(g.Body) == `{"deep":[true,2.5,null],"n":1}` && g.ExpiresAt.Equal(time.Date(2031, 6, 1, 0, 0, 0, 0, time.UTC)),
		"evidence": len(g.Evidence) == 1 && g.Evidence[0].Line == c.Given[1].Line && g.Evidence[0].Path == "cases.yaml" && c.Given[1].Line == 15,
		"owners":   g.Owner == "team" && c.Given[2].Claim.Owner == "bob" && c.Given[2].Claim.Scope.ID == "7",
		"canaries": slices.Equal(c.Want.Canaries, []string{"one", "two"}),
		"recall":   len(c.Want.Recall) == 2 && c.Want.Recall[0].Text == "words" && c.Want.Recall[0].Within == 9 && c.Want.Recall[1].Within == 3,
		"matchers": c.Want.NotRecall[0].Regexp.String() == "a.b" && c.Want.Inject[0].Source == "docs/" && c.Want.NotInject[0].ID == "3f9a1c",
		"rest":     !*c.Want.BlockEmpty && c.Want.MaxChars == 500 && c.Want.Mode == ken.ModeHybrid && c.Want.Stranger == "bob",
		"place":    c.File == "cases.yaml" && c.Line == 9 && f.Cases[1].Line == 37,
		"little":   f.Cases[1].Project == "payments" && len(f.Cases[1].Given) == 1 && slices.Equal(f.Cases[1].Want.Canaries, []string{"one"}),
	} {
		if !ok {
			t.Errorf("%s: %+v", what, c)
		}
	}
}

// A file that can't be parsed is rejected with the place and advice: a misspelled
// expectation would never fail.
func TestParseErrors(t *testing.T) {
	one := func(rest string) string { return "cases:\n- name: x\n  ask: When?\n" + rest }
	for _, tt := range []struct {
		text  string
		parts []string
	}{
		{"", []string{"nothing in it", "under cases"}},
		{"# nothing\n", []string{"nothing in it"}},
		{"cases: [\n", []string{"not valid YAML", "line"}},
		{"- name: x", []string{"a list where keys with values belong", "cases"}},
		{"cases: []", []string{"no list of cases"}},
		{"cases: {name: x}", []string{"no list of cases"}},
		{"case: []", []string{"unknown key", "Use cases."}},
		{one("  mode: keyword\n") + "---\ncases: []", []string{"a second document"}},
		{one(""), []string{"cases[0]: nothing is expected", "must_recall", "line 2"}},
		{"cases:\n- ask: x", []string{"cases[0].name: missing"}},
		{"cases:\n- {name: x, mode: none}", []string{"nothing is asked"}},
		{"cases:\n- {name: x, ask: a, mode: none}\n- {name: x, ask: a, mode: none}", []string{"is the name of the case in line 2 as well", "line 3"}},
		{one("  must_recal: y"), []string{"cases[0].must_recal: unknown key", "line 4", "Use must_recall."}},
		{one("  must_inject: y\n  must_inject: z"), []string{"given again after line 4", "line 5"}},
		{one("  must_inject: []"), []string{"cases[0].must_inject: an empty list"}},
		{one("  must_inject: 7"), []string{"7 is not text", "in quotes"}},
		{one("  must_inject: ' '"), []string{"empty"}},
		{one("  must_inject: {key: a, text: b}"), []string{"2 ways to say what is meant"}},
		{one("  must_inject: {}"), []string{"0 ways"}},
		{one("  must_inject: {kee: a}"), []string{"unknown key", "Use key."}},
		{one("  must_inject: {key: a, within: 2}"), []string{"must_inject[0].within: unknown key"}},
		{one("  must_inject: {regexp: '('}"), []string{"must_inject[0].regexp", "missing closing )"}},
		{one("  must_inject: {id: abc}"), []string{"too short for an id"}},
		{one("  must_recall: {key: a, within: 0}"), []string{"0 is not a whole number from 1"}},
		{one("  within: 3\n  mode: none"), []string{"there is no must_recall"}},
		{one("  max_chars: many"), []string{`"many" is not a whole number`}},
		{one("  max_chars: 99999999999999999999"), []string{"is not a whole number"}},
		{one("  block_empty: perhaps"), []string{"neither true nor false"}},
		{one("  block_empty: true\n  must_inject: a"), []string{"block_empty: true, and must_inject wants something", "line 4"}},
		{one("  mode: late"), []string{"unknown mode", "hybrid, keyword, vector, none"}},
		{one("  mode: [none]"), []string{"a list is not text"}},
		{one("  conversation: [{user: a}]\n  mode: none"), []string{"given beside ask"}},
		{"cases:\n- {name: x, mode: none, conversation: [{assistant: a}]}", []string{"no message of the user's"}},
		{"cases:\n- {name: x, mode: none, conversation: [{user: a, assistant: b}]}", []string{"not one message"}},
		{"cases:\n- {name: x, mode: none, conversation: [{human: a}]}", []string{"unknown key", "user, assistant"}},
		{one("  mode: none\n  scopes: [payments]"), []string{"scopes[0]", "is not type:id"}},
		{one("  mode: none\n  now: noon"), []string{`"noon" is not a moment`}},
		{one("  owner: a\n  other_owner_sees_nothing: a"), []string{"a is the owner of the case"}},
		{one("  mode: none\n  given: [{txt: a}]"), []string{"given[0].txt: unknown key", "Use text."}},
		{one("  mode: none\n  given: [{key: a}]"), []string{"given[0].text: empty"}},
		{one("  mode: none\n  given: [{text: a, kind: Fact}]"), []string{"given[0].kind: bad kind"}},
		{one("  mode: none\n  given: [{text: a, evidence: [{kind: rumour}]}]"), []string{"given[0].evidence[0]", "unknown evidence kind"}},
		{one("  mode: none\n  given: [{text: a, evidence: [{kind: url, site: b}]}]"), []string{"evidence[0].site: unknown field"}},
		{one("  mode: none\n  given: [{text: a, tags: [1]}]"), []string{"given[0].tags[0]: want a string"}},
		{one("  mode: none\n  given: [{text: a, scope: here}]"), []string{"given[0].scope", "is not type:id"}},
		{one("  mode: none\n  given: [{text: a, session: s, session_id: t}]"), []string{"given as session_id as well"}},
		{one("  mode: none\n  given: [{text: a, confidence: .inf}]"), []string{"given[0].confidence", "not supported"}},
		{one("  mode: none\n  given: [{text: a, body: {x: 1, x: 2}}]"), []string{"given twice"}},
		{one("  mode: none\n  given: [&a {text: b}]"), []string{"an anchor, alias or tag"}},
		{one("  mode: none\n  given: [{text: a, <<: {key: b}}]"), []string{"not a plain name"}},
		{one("  mode: none\n  canaries: ['']"), []string{"canaries[0]: empty"}},
		{strings.Repeat("[", 200_000), []string{"nested more than 1000 deep"}},
		{strings.Repeat("a: [\n", 50_000), []string{"nested more than 1000 deep"}},
		{strings.Repeat("- ", 100_000), []string{"nested more than 1000 deep"}},
		{"\xff\xfe", []string{"not valid UTF-8"}},
		{"#" + strings.Repeat("x", cases.MaxBytes), []string{"at most"}},
	} {
		_, err := cases.Parse("memory.yaml", []byte(tt.text))
		if err == nil {
			t.Errorf("no error for %q", tt.text)
			continue
		}
		wantError(t, err, ken.CodeInvalid, append(tt.parts, "memory.yaml", "Try: ")...)
		if ken.Hint(err) == "" {
			t.Errorf("no advice: %v", err)
		}
	}
}

func TestLoad(t *testing.T) {
	_, err := cases.Load(filepath.Join(t.TempDir(), "none.yaml"))
	wantError(t, err, ken.CodeNotFound, "read cases", "docs/memory-tests.md")
	path := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(path, []byte("cases: [{name: a, ask: b, mode: none}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := cases.Load(path); err != nil || f.Path != path || len(f.Cases) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(knowledge + "    mode: none\n"))
	f.Add([]byte("cases: [{name: a, ask: b, must_recall: [{key: c, within: 2}], canaries: [d]}]"))
	f.Add([]byte("given: [{text: a, evidence: [{kind: url, url: x}], body: {a: [1, null]}}]\ncases: [{name: a, conversation: [{user: b}], block_empty: true}]"))
	f.Add([]byte("cases: [{name: &a b, ask: *a}]"))
	f.Add([]byte("a: |\n  b\n---\n? c\n: d"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4<<10 { // hostile nesting costs the YAML parser much
			return
		}
		file, err := cases.Parse("f.yaml", b)
		if err != nil {
			wantError(t, err, ken.CodeInvalid, "f.yaml")
			return
		}
		if len(file.Cases) == 0 {
			t.Fatal("a file without cases")
		}
		for _, c := range file.Cases {
			if c.Name == "" || len(c.Messages) == 0 || c.Line < 1 {
				t.Fatalf("half a case: %+v", c)
			}
			for _, g := range c.Given {
				if err := g.Claim.Validate(); err != nil {
					t.Fatalf("given: %v", err)
				}
			}
		}
	})
}
