package foreign_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/foreign"
)

var update = flag.Bool("update", false, "write what is read as the wanted")

// show prints what was read, one entry a line.
func show(items []foreign.Item) string {
	var b strings.Builder
	for _, it := range items {
		c := &it.Claim
		switch {
		case it.Err != nil:
			fmt.Fprintf(&b, "%d: error: %v\n", it.N, it.Err)
			continue
		case it.Skip != "":
			fmt.Fprintf(&b, "%d: left out: %s\n", it.N, it.Skip)
			continue
		}
		fmt.Fprintf(&b, "%d: %s | %s", it.N, c.Heading, strings.ReplaceAll(c.Text, "\n", "⏎"))
		for _, more := range []string{strings.Join(c.Entities, ","), strings.Join(c.Tags, ","), c.Owner, c.Session, string(c.Body)} {
			if more != "" {
				fmt.Fprintf(&b, " | %s", more)
			}
		}
		for _, at := range []time.Time{c.CreatedAt, c.ExpiresAt} {
			if !at.IsZero() {
				fmt.Fprintf(&b, " | %s", at.Format(time.DateOnly))
			}
		}
		fmt.Fprintf(&b, " | %s\n", c.Evidence[0].Kind)
	}
	return b.String()
}

// Each file below testdata is read in the format that is guessed for it, and gives what the
// file of the same name with .want says.
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	formats := map[foreign.Format]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, ".want") || filepath.Base(file) == "fuzz" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			format, err := foreign.Guess(file, data[:min(len(data), foreign.Head)])
			if err != nil {
				t.Fatal(err)
			}
			formats[format] = true
			o := foreign.Options{Name: filepath.Base(file)}
			if format == foreign.ChatGPT || format.Instructs() {
				o.Word = ken.FromHumanAssertion("ana", time.Time{}, "")
			}
			got := slices.Collect(foreign.Read(strings.NewReader(string(data)), format, o))
			text := string(format) + "\n" + show(got)
			if *update {
				if err := os.WriteFile(file+".want", []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file + ".want")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Error(diff)
			}
			again := slices.Collect(foreign.Read(strings.NewReader(string(data)), format, o))
			if !reflect.DeepEqual(got, again) {
				t.Error("read again, it gives something else")
			}
		})
	}
	for _, f := range foreign.Formats() {
		if !formats[f] {
			t.Errorf("no file of the format %s", f)
		}
	}
}

func TestGuess(t *testing.T) {
	for name, tt := range map[string]struct {
		head string
		want foreign.Format
	}{
		"CLAUDE.md":                      {"", foreign.ClaudeCode},
		"home/AGENTS.md":                 {"", foreign.ClaudeCode},
		".cursorrules":                   {"", foreign.Cursor},
		"a.mdc":                          {"", foreign.Cursor},
		"Ledger.md":                      {"", foreign.Obsidian},
		"rows.csv":                       {"", foreign.CSV},
		"agent.af":                       {"", foreign.Letta},
		"conversations.json":             {`[{"title":"x","mapping":{`, foreign.ChatGPT},
		"old-conversations.json":         {"[\n  {\n    \"moderation_results\": [],", foreign.ChatGPT},
		"mem0.json":                      {`{"results":[{"id":"1","memory":"User likes tea"}]}`, foreign.Mem0},
		"edges.json":                     {`[{"uuid":"1","fact":"x"}]`, foreign.Zep},
		"agent.json":                     {`{"agents":[{"block_ids":[]}]}`, foreign.Letta},
		"string.json":                    {`"{\"agents\":[{\"agent_type\":1}]}"`, foreign.Letta},
		"-":                              {`{"text":"x"}`, foreign.Claims},
		"body.jsonl":                     {`{"text":"x","body":{"fact":"y"}}`, foreign.Claims},
		"broken.jsonl":                   {`{"text":`, foreign.Claims},
		"empty":                          {"", foreign.Claims},
		"unknown.json":                   {"[\n1]", ""},
		"export.zip":                     {"PK\x03\x04mapping", ""},
		"C:\\Users\\ana\\notes\\Note.md": {"", foreign.Obsidian},
	} {
		got, err := foreign.Guess(name, []byte(tt.head))
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s is %q, %v, want %q", name, got, err, tt.want)
		}
	}
}

func TestGuessFolder(t *testing.T) {
	for _, tt := range []struct {
		files string
		want  foreign.Format
		read  string
	}{
		{"a.md b/c.md .obsidian/app.json .obsidian/x.md", foreign.Obsidian, "a.md b/c.md"},
		{"CLAUDE.md main.go docs/a.md .claude/rules/go.md", foreign.ClaudeCode, "CLAUDE.md .claude/rules/go.md"},
		{".cursor/rules/a.mdc .cursorrules README.md", foreign.Cursor, ".cursor/rules/a.mdc .cursorrules"},
		{".cursorrules CLAUDE.md", "", ""},
		{"main.go", "", ""},
	} {
		files := strings.Fields(tt.files)
		got, err := foreign.GuessFolder(files)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v, want %q", tt.files, got, err, tt.want)
		}
		var read []string
		for _, f := range files {
			if foreign.Wanted(got, f) {
				read = append(read, f)
			}
		}
		if strings.Join(read, " ") != tt.read {
			t.Errorf("%s: reads %q, want %q", tt.files, read, tt.read)
		}
	}
}

// The author of an entry.
func TestWord(t *testing.T) {
	word := ken.FromHumanAssertion("ana", time.Time{}, "")
	for _, tt := range []struct {
		name   string
		format foreign.Format
		text   string
		o      foreign.Options
		want   ken.EvidenceKind
	}{
		{"a rule of a project", foreign.ClaudeCode, "Never push to main.", foreign.Options{}, ken.EvidenceArtifact},
		{"a rule of one's own", foreign.ClaudeCode, "Never push to main.", foreign.Options{Word: word}, ken.EvidenceHumanAssertion},
		{"a model's memory", foreign.Mem0, `{"memory":"User likes tea"}`, foreign.Options{}, ken.EvidenceAgentAssertion},
		{"a model's memory in the user's file", foreign.Mem0, `{"memory":"User likes tea"}`, foreign.Options{Word: word}, ken.EvidenceAgentAssertion},
		{"a model's memory, vouched for", foreign.Mem0, `{"memory":"User likes tea"}`, foreign.Options{Word: word, Vouched: true}, ken.EvidenceHumanAssertion},
		{"a claim", foreign.Claims, `{"text":"x y"}`, foreign.Options{}, ken.EvidenceArtifact},
		{"a claim, vouched for", foreign.Claims, `{"text":"x y"}`, foreign.Options{Word: word, Vouched: true}, ken.EvidenceHumanAssertion},
		{"a claim with evidence, vouched for", foreign.Claims, `{"text":"x y","evidence":[{"kind":"file","path":"a"}]}`, foreign.Options{Word: word, Vouched: true}, ken.EvidenceFile},
		{"a row, vouched for", foreign.CSV, "text\nx y\n", foreign.Options{Word: word, Vouched: true}, ken.EvidenceHumanAssertion},
	} {
		for it := range foreign.Read(strings.NewReader(tt.text), tt.format, tt.o) {
			if it.Err != nil || it.Claim.Evidence[0].Kind != tt.want || it.Claim.Key == "" {
				t.Errorf("%s: %+v", tt.name, it)
			}
		}
	}
}

// A file sets no rule and counts as no person's statement, unless the user vouches for it or ken export
// wrote it.
func TestUnvouched(t *testing.T) {
	const human, file = `{"kind":"human_assertion","id":"ana"}`, `{"kind":"file","path":"a.go"}`
	line := func(fields string) string { return `{"text":"x y"` + fields + `}` }
	row := func(field, cell string) string {
		return "text," + field + "\nx y,\"" + strings.ReplaceAll(cell, `"`, `""`) + "\"\n"
	}
	const history = `,"id":"01900000-0000-7000-8000-000000000001","history":[{"type":"claim.written","at":"2026-01-01"}]`
	type want struct {
		rule, candidate bool
		status          ken.Status
		by              ken.Assigner
		evidence        string // kinds and speakers
		history         int
		unvouched       bool
	}
	fact := want{status: ken.StatusObserved, evidence: "artifact agent", unvouched: true}
	candidate := fact
	candidate.candidate = true
	cited := fact
	cited.evidence = "file agent"
	both := fact
	both.evidence = "tool_result external"
	vouched := want{rule: true, status: ken.StatusVerified, by: ken.AssignedByOperator, evidence: "human_assertion operator"}
	export := vouched
	export.history = 1
	for _, tt := range []struct {
		name    string
		format  foreign.Format
		text    string
		vouched bool
		want    want
	}{
		{"a line with a rule", foreign.Claims, line(`,"constraint":true`), false, candidate},
		{"a row with a rule", foreign.CSV, row("constraint", "true"), false, candidate},
		{"a line with a person's word", foreign.Claims, line(`,"evidence":[` + human + `]`), false, fact},
		{"a row with a person's word", foreign.CSV, row("evidence", "["+human+"]"), false, fact},
		{"a line with a user's statement", foreign.Claims, line(`,"evidence":[{"kind":"user_statement","session_id":"s","message_id":"m"}]`), false, fact},
		{"a line that says that an operator speaks", foreign.Claims, line(`,"evidence":[{"kind":"artifact","artifact_id":"a","trust":"operator"}]`), false, fact},
		{"a line that cites a file", foreign.Claims, line(`,"evidence":[` + file + `]`), false, cited},
		{"a row that cites a file", foreign.CSV, row("evidence", "["+file+"]"), false, cited},
		{"a line with a tool's result and a person's word", foreign.Claims, line(`,"evidence":[{"kind":"tool_result","tool_call_id":"t"},` + human + `]`), false, both},
		{"a line that is verified", foreign.Claims, line(`,"status":"verified"`), false, fact},
		{"a row that is verified", foreign.CSV, row("status", "verified"), false, fact},
		{"a line that an operator filed", foreign.Claims, line(`,"assigned_by":"operator"`), false, fact},
		{"a row with a history", foreign.CSV, row("history", `[{"type":"claim.written","at":"2026-01-01"}]`), false, fact},
		{"an empty history", foreign.Claims, line(`,"constraint":true,"history":[]`), false, candidate},
		{"nothing to take out", foreign.Claims, line(""), false, want{status: ken.StatusObserved, evidence: "artifact agent"}},
		{"a line, vouched for", foreign.Claims, line(`,"constraint":true,"status":"verified","assigned_by":"operator","evidence":[` + human + `]`), true, vouched},
		{"an export", foreign.Claims, line(`,"constraint":true,"status":"verified","assigned_by":"operator","evidence":[` + human + `]` + history), false, export},
	} {
		o := foreign.Options{Name: "f", Vouched: tt.vouched}
		for it := range foreign.Read(strings.NewReader(tt.text), tt.format, o) {
			c := it.Claim
			var evidence []string
			for _, e := range c.Evidence {
				evidence = append(evidence, string(e.Kind)+" "+e.Speaker().String())
			}
			got := want{c.Constraint, c.RuleCandidate, c.Status, c.AssignedBy, strings.Join(evidence, ", "), len(it.History), it.Unvouched}
			if it.Err != nil || got != tt.want {
				t.Errorf("%s:\n%+v, want\n%+v; %v", tt.name, got, tt.want, it.Err)
			}
		}
	}
}

// Equal entries of two files are read once, and a file that is not text is reported.
func TestSeen(t *testing.T) {
	seen := map[string]bool{}
	for i, want := range []string{"", "the same as another entry"} {
		for it := range foreign.Read(strings.NewReader("Never push to main."), foreign.Cursor, foreign.Options{Name: fmt.Sprint(i), Seen: seen}) {
			if it.Skip != want {
				t.Errorf("file %d: %+v", i, it)
			}
		}
	}
	skipped := 0
	for it := range foreign.Read(strings.NewReader(strings.Repeat("{\"text\":\"the same line\"}\n", 3)), foreign.Claims, foreign.Options{}) {
		if it.Skip != "" {
			skipped++
		}
	}
	if skipped != 2 {
		t.Errorf("%d of 3 equal lines are left out", skipped)
	}
	for it := range foreign.Read(strings.NewReader("\xff\xfe"), foreign.CSV, foreign.Options{}) {
		if it.Err == nil {
			t.Error("no UTF-8 and no error")
		}
	}
}
