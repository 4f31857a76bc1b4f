package pattern

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

const (
	passes = "ok  \tpay/store\t0.2s\nok  \tpay/money\t0.1s"
	breaks = "--- FAIL: TestRound (0.00s)\n    money_test.go:17: got 1.00, want 1.01\nFAIL\nFAIL\tpay/money\t0.2s\nFAIL"
)

func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    *script
		want []string // text, evidence
	}{
		{"succeeds", newScript().run("cd /src/pay && go build ./...", 0, ""), []string{"Shell command succeeds: go build ./...", "exit_code"}},
		{"fails once", newScript().run("make lint", 2, "fatal: no linter"), nil},
		{"fails repeatedly", newScript().run("make lint", 2, "fatal: no linter").run("make lint 2>&1", 2, "fatal: no linter"), []string{"Shell command fails repeatedly: make lint", "exit_code"}},
		{"fails, then succeeds", newScript().run("npm test", 1, "x").run("npm test", 1, "x").run("npm test", 0, "fine"),
			[]string{"Shell command fails repeatedly: npm test", "exit_code", "Shell command succeeds: npm test", "exit_code"}},
		{"test passes", newScript().run("go test ./store", 0, "ok  \tpay/store\t0.2s"),
			[]string{"Shell command succeeds: go test ./store", "exit_code", "Test passes: pay/store", "test_result exit_code"}},
		{"test of a run that failed", newScript().run("go test ./...", 1, "ok  \tpay/store\t0.2s\n"+breaks), []string{"Test passes: pay/store", "test_result"}},
		{"file", newScript().edit("store/log.go").edit("store/log.go").edit("go.mod"), []string{"File is modified repeatedly in sessions: store/log.go", "tool_result tool_result"}},
		{"edits that failed", newScript().edit("a.go").call("Edit", `{"file_path":"a.go","old_string":"abcd","new_string":"efgh"}`, "Error: String to replace not found"), nil},
		{"files made by tools", newScript().edit("go.sum").edit("go.sum").edit("/tmp/x").edit("/tmp/x"), nil},
		{"looking", newScript().run("ls -la", 0, "x").run("git status", 0, "x").run("sed -n 1,9p a.go", 0, "x").run("echo hi", 0, "hi"), nil},
		{"routine", newScript().run("git commit -m x", 0, "x"), nil},
		{"routine that keeps failing", newScript().run("git push origin main", 1, "remote: error: GH006: protected branch").run("git push origin main", 1, "remote: error: GH006: protected branch"),
			[]string{"Shell command fails repeatedly: git push origin main", "exit_code"}},
		{"one-off code", newScript().run("python3 -c 'print(1)'", 1, "x").run("python3 -c 'print(2)'", 1, "x"), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range tt.s.patterns() {
				got = append(got, c.Text, kinds(c))
				if err := c.Validate(); err != nil {
					t.Error(err)
				}
				if c.Kind != ken.KindPattern || c.Status != ken.StatusHypothesis {
					t.Errorf("%s is %s %s", c.Text, c.Status, c.Kind)
				}
			}
			if strings.Join(got, "|") != strings.Join(tt.want, "|") {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// An exit code that nobody named, or that is another command's, proves nothing:
// taken for a success it would verify a falsehood.
func TestUnknownExitIsNoEvidence(t *testing.T) {
	for name, s := range map[string]*script{
		"nothing said":             newScript().unknown("make deploy", "done"),
		"a pipe":                   newScript().run("make deploy | tail -5", 0, "done"),
		"or true":                  newScript().run("make deploy || true", 0, "done"),
		"in the background":        newScript().run("make serve &", 0, ""),
		"another command's":        newScript().run("make a; make b", 0, ""),
		"failures of a filter":     newScript().run("make a | grep x", 1, "").run("make a | grep x", 1, ""),
		"tests behind grep":        newScript().run("go test ./... | grep ok", 0, passes),
		"tests of which some fail": newScript().unknown("go test ./...", passes+"\nFAIL\tpay/web [build failed]\nFAIL"),
		"a panic":                  newScript().unknown("go test ./...", passes+"\npanic: boom"),
	} {
		for _, text := range s.texts() {
			if !strings.HasPrefix(text, "Test passes: ") {
				t.Errorf("%s: %q", name, text)
			}
		}
	}
}

// A test runner's own words count where the exit code is hidden, and as what they
// are: a test result, not an exit code.
func TestRunnersWordWhereTheExitCodeIsHidden(t *testing.T) {
	for name, s := range map[string]*script{
		"unknown":   newScript().unknown("go test ./...", passes),
		"behind it": newScript().run("go test ./... 2>&1 | tail -20", 0, passes),
	} {
		c := s.patterns()[0]
		if c.Text != "Shell command succeeds: go test ./..." || kinds(c) != "test_result" || c.Evidence[0].Detail != "2 tests passed and none failed" {
			t.Errorf("%s: %s %+v", name, c.Text, c.Evidence)
		}
	}
	silent := newScript().call("Bash", `{"command":"make deploy"}`, "done")
	if c := silent.patterns()[0]; kinds(c) != "exit_code" || !strings.Contains(c.Evidence[0].Detail, "named none") {
		t.Errorf("%+v", c.Evidence)
	}
}

// Work in progress makes tests fail: that is what tests are for.
func TestFailuresThatAnEditCuredAreTheWorkInHand(t *testing.T) {
	s := newScript().run("go test ./...", 1, breaks).run("go test ./...", 1, breaks).edit("money/round.go").run("go test ./...", 0, passes)
	got := s.texts()
	if len(got) == 0 || got[0] != "Shell command succeeds: go test ./..." || strings.Contains(strings.Join(got, "|"), "fails repeatedly") {
		t.Errorf("%q", got)
	}
	s = newScript().run("go test ./...", 1, breaks).edit("money/round.go").run("go test ./...", 1, breaks)
	if got := s.texts(); got[0] != "Shell command fails repeatedly: go test ./..." {
		t.Errorf("it still fails: %q", got)
	}
}

func TestTests(t *testing.T) {
	verbose := func(names ...string) string {
		out := ""
		for _, n := range names {
			if rest, ok := strings.CutPrefix(n, "-"); ok {
				out += "--- FAIL: " + rest + " (0.00s)\n"
				continue
			}
			out += "--- PASS: " + n + " (0.00s)\n"
		}
		return out
	}
	for _, tt := range []struct {
		name string
		s    *script
		want string
	}{
		{"made to pass", newScript().run("go test -v .", 1, verbose("TestA", "-TestB")).edit("a.go").run("go test -v .", 0, verbose("TestA", "TestB")), "TestB TestA"},
		{"failed at last", newScript().run("go test -v .", 0, verbose("TestA")).edit("a.go").run("go test -v .", 1, verbose("-TestA")), ""},
		{"flaky", newScript().run("go test -v .", 1, verbose("-TestA")).run("go test -v .", 0, verbose("TestA")), ""},
		{"subtests", newScript().run("go test -v .", 0, verbose("TestA", "TestA/empty", "TestA/full")), "TestA"},
		{"packages first", newScript().run("go test -v ./...", 0, verbose("TestA")+"ok  \tpay/store\t0.2s"), "pay/store TestA"},
		{"at most five", newScript().run("go test -v .", 0, verbose("TestA", "TestB", "TestC", "TestD", "TestE", "TestF", "TestG")), "TestA TestB TestC TestD TestE"},
	} {
		var got []string
		for _, text := range tt.s.texts() {
			if rest, ok := strings.CutPrefix(text, "Test passes: "); ok {
				got = append(got, rest)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A run of some of the tests is no word for the package.
func TestFilteredRunIsNoWordForThePackage(t *testing.T) {
	for _, c := range newScript().run("go test ./store -v -run TestGood", 0, "=== RUN   TestGood\n--- PASS: TestGood (0.00s)\nPASS\nok  \tpay/store\t0.2s").patterns() {
		if c.Text == "Test passes: pay/store" {
			t.Errorf("%q", c.Text)
		}
	}
}

func TestBodySaysHowOftenAndWhy(t *testing.T) {
	s := newScript().run("DEBUG=1 timeout 60 make lint > /tmp/x.log", 2, "fatal: no linter").run("make lint", 3, "fatal: wrong version").run("go build", 0, "").run("go build", 0, "")
	cs := s.patterns()
	failing, built := body(t, cs[0]), body(t, cs[1])
	if failing.Source != Failure || failing.Command != "make lint" || failing.Count != 2 || failing.LastError != "fatal: wrong version" || *failing.ExitCode != 3 || failing.AsRun != "" {
		t.Errorf("%+v", failing)
	}
	if built.Source != Command || built.Command != "go build" || built.Count != 2 || built.LastError != "" || built.ExitCode != nil {
		t.Errorf("%+v", built)
	}
	one := newScript().run("CGO_ENABLED=0  go build ./cmd/pay", 0, "").patterns()[0]
	if b := body(t, one); b.AsRun != "CGO_ENABLED=0 go build ./cmd/pay" || one.Text != "Shell command succeeds: go build ./cmd/pay" {
		t.Errorf("%+v", b)
	}
}

// The key is how a later session knows what an earlier one wrote.
func TestKeysAreStable(t *testing.T) {
	one := newScript().run("cd /src && go test ./... 2>&1", 0, "").patterns()[0]
	next := newScript().run("timeout 300 go  test ./...", 0, "")
	next.Info.ID = "s2"
	two := next.patterns()[0]
	if one.Key != two.Key || one.Key != Key(Command, "go test ./...", next.Info) {
		t.Errorf("%s and %s", one.Key, two.Key)
	}
	next.Info.Scope = ken.Scope{Type: ken.ScopeRepo, ID: "acme/pay"}
	if three := next.patterns()[0]; three.Key == two.Key {
		t.Error("another scope has the same key")
	}
	next.Info.Scope, next.Info.Project = ken.Scope{}, "other"
	if four := next.patterns()[0]; four.Key == two.Key {
		t.Error("another project has the same key")
	}
	fails := newScript().run("go test ./...", 1, "fatal: x").run("go test ./...", 1, "fatal: x").patterns()[0]
	if fails.Key == one.Key || !strings.HasPrefix(fails.Key, "pattern:failure:") || !strings.HasPrefix(one.Key, "pattern:command:") {
		t.Error(fails.Key, one.Key)
	}
}

func TestAtMostTwenty(t *testing.T) {
	s := newScript()
	for i := range 40 {
		s.run(fmt.Sprintf("./fail-%c%d", 'a'+i%26, i), 1, "fatal: x").run(fmt.Sprintf("./fail-%c%d", 'a'+i%26, i), 1, "fatal: x")
		s.run(fmt.Sprintf("./pass-%c%d", 'a'+i%26, i), 0, fmt.Sprintf("--- PASS: Test%d (0.0s)", i))
		s.edit(fmt.Sprintf("f%d.go", i)).edit(fmt.Sprintf("f%d.go", i))
	}
	s.run("./pass-often", 0, "").run("./pass-often", 0, "")
	got := s.texts()
	if len(got) != MaxPatterns {
		t.Errorf("%d", len(got))
	}
	count := map[string]int{}
	for _, text := range got {
		before, _, _ := strings.Cut(text, ": ")
		count[before]++
	}
	if len(count) != 4 {
		t.Errorf("a source pushed another out: %v", count)
	}
	if got[maxFailures] != "Shell command succeeds: ./pass-often" {
		t.Errorf("%q: what recurs most comes first", got[maxFailures])
	}
}

func TestNothingComesOfNothing(t *testing.T) {
	if got := newScript().patterns(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func FuzzExtract(f *testing.F) {
	f.Add("go test ./...", breaks, passes)
	f.Add("make x | tail", "Exit code: 1", `{"exit_code":0}`)
	f.Add("a 'b", "", "ok 1 - x")
	f.Fuzz(func(t *testing.T, command, first, second string) {
		for _, c := range newScript().unknown(command, first).edit("a.go").unknown(command, second).unknown(command, second).patterns() {
			if len(c.Evidence) == 0 || c.Key == "" || c.Status != ken.StatusHypothesis || !strings.Contains(c.Text, ": ") {
				t.Errorf("%+v", c)
			}
		}
	})
}
