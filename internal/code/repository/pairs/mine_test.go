package pairs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/code/repository/pairs"
	"github.com/kenlayer/ken/internal/embed/adapt"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/race"
)

// folder writes files into a new folder.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// git runs git in dir, or skips the test where there is none.
func git(t testing.TB, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func mine(t testing.TB, dir string, o pairs.Options) (adapt.Set, pairs.Report) {
	t.Helper()
	set, report, err := pairs.Mine(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return set, report
}

// of lists the pairs of one source as "question => start of the first passage".
func of(set adapt.Set, src string) []string {
	var out []string
	for _, p := range set.Pairs {
		if p.Src == src {
			first, _, _ := strings.Cut(set.Passages[p.Passages[0]], "\n")
			out = append(out, p.Q+" => "+first)
		}
	}
	return out
}

var sample = map[string]string{
	"guide.md": "# Guide\n\nHow the harbour works, who decides what, and where to ask when something is unclear.\n\n## Mooring of large ships\n\nA ship above ninety metres needs two tugs and a pilot before it enters the basin.\n\n" +
		"## Fees\n\nEach berth costs forty euros a day, water and electricity come on top of that.\n",
	"docs/decisions/0002-berths.md": "# 0002: Berths are given by draught\n\nStatus: accepted\n\n## Context\n\nDeep ships took shallow berths and ran aground at low tide.\n",
	"harbour/berth.go": "// Package harbour gives ships their place, and moves them when the weather asks for it.\npackage harbour\n\n// Assign finds the shallowest berth that a ship can still use.\n// More.\n" +
		"func Assign(draught float64, free []int) int {\n\tbest := -1\n\tfor i, depth := range free {\n\t\t_ = depth\n\t\tbest = i\n\t}\n\treturn best\n}\n",
	"tide.py":  "import math\n\n\ndef level(hours):\n    \"\"\"Estimate the water level from the hours since high tide.\"\"\"\n    amplitude = 2.5\n    return amplitude * math.cos(hours / 6.2)\n",
	"queue.js": "/**\n * Let the ship that has waited longest enter first.\n * @param ships what waits\n */\nfunction admit(ships) {\n  return ships.sort((left, right) => left.since - right.since)[0];\n}\n",
}

func TestSources(t *testing.T) {
	set, report := mine(t, folder(t, sample), pairs.Options{})
	if report.Files != 5 || report.History == "" || report.Mined != len(set.Pairs)+report.Common+report.Over {
		t.Errorf("%+v", report)
	}
	for src, want := range map[string][]string{
		pairs.SourceHeading: {"Mooring of large ships => A ship above ninety metres needs two tugs and a pilot before it enters the basin.",
			"Guide: Fees => Each berth costs forty euros a day, water and electricity come on top of that."},
		pairs.SourceDecision: {"Berths are given by draught => Status: accepted"},
		pairs.SourceComment: {"finds the shallowest berth that a ship can still use. More. => func Assign(draught float64, free []int) int {",
			"Let the ship that has waited longest enter first. @param ships what waits => function admit(ships) {",
			"Estimate the water level from the hours since high tide. => import math"},
		pairs.SourceCommit: nil, pairs.SourceCommitCode: nil,
	} {
		got := of(set, src)
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: %q is missing in\n%s", src, w, strings.Join(got, "\n"))
			}
		}
		if want == nil && got != nil {
			t.Errorf("%s: %q", src, got)
		}
	}
	if got := of(set, pairs.SourcePath); !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "harbour berth => ") }) {
		t.Errorf("paths: %q", got)
	}
	checkSet(t, set)
}

// checkSet asserts what holds of every set.
func checkSet(t testing.TB, set adapt.Set) {
	t.Helper()
	for _, p := range set.Pairs {
		if p.Q == "" || p.Src == "" || p.File == "" || len(p.Passages) == 0 {
			t.Fatalf("incomplete: %+v", p)
		}
		for _, i := range p.Passages {
			if i < 0 || i >= len(set.Passages) {
				t.Fatalf("%+v: no such passage", p)
			}
		}
		if first := set.Passages[p.Passages[0]]; p.Src == pairs.SourceComment && len(p.Q) > 40 && strings.Contains(strings.Join(strings.Fields(first), " "), p.Q) {
			t.Errorf("%s: the passage holds its question %q", p.File, p.Q)
		}
	}
}

func TestHistory(t *testing.T) {
	dir := folder(t, sample)
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "harbour: first berths for deep ships", "-m", "Ships with a deep draught ran aground at low tide, so each one gets the shallowest berth that will do.")
	if err := os.WriteFile(filepath.Join(dir, "queue.js"), []byte("// The order is by waiting time.\nfunction admit(ships) { return firstByWaitingTime(ships, harbourClock) }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "commit", "-q", "-a", "-m", "queue: compare waiting times by the harbour clock")
	set, report := mine(t, dir, pairs.Options{})
	if report.Commits != 2 || report.History != "" {
		t.Errorf("%+v", report)
	}
	if got, want := of(set, pairs.SourceCommit), []string{"first berths for deep ships => Ships with a deep draught ran aground at low tide, so each one gets the shallowest berth that will do."}; !slices.Equal(got, want) {
		t.Errorf("commits: %q", got)
	}
	got := of(set, pairs.SourceCommitCode)
	if len(got) != 2 || got[0] != "compare waiting times by the harbour clock => // The order is by waiting time." {
		t.Errorf("changes: %q", got)
	}
	for _, p := range set.Pairs {
		if p.Src == pairs.SourceCommitCode && p.Q == "compare waiting times by the harbour clock" && !slices.Equal(p.Touches, []string{"queue.js"}) {
			t.Errorf("touches %q", p.Touches)
		}
	}
	if none, _ := mine(t, dir, pairs.Options{Index: repository.Options{NoHistory: true}}); len(of(none, pairs.SourceCommit))+len(of(none, pairs.SourceCommitCode)) > 0 {
		t.Error("history although nobody asked for it")
	}
	checkSet(t, set)
}

// Secrets and ignored files are in no pair, neither from the files nor from the history.
func TestSecretsStayOut(t *testing.T) {
	const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	dir := folder(t, map[string]string{
		".gitignore": "private/\n",
		"a.go":       "package a\n\n// Connect reaches the registry of all ships with token " + token + " each night.\nfunc Connect(registry string, attempts int) error { return dial(registry, attempts) }\n",
		"b.go":       "package a\n\n// Sail leaves the harbour at once when the signal is given.\nfunc Sail(signal bool, ship string) error { return leave(signal, ship) }\n",
	})
	git(t, dir, "init", "-q")
	if err := os.MkdirAll(filepath.Join(dir, "private"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "private", "c.go"), []byte("package c\n\n// Bury hides the treasure under the oldest pier.\nfunc Bury(treasure, pier string) error { return dig(pier, treasure) }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "-f", ".")
	git(t, dir, "commit", "-q", "-m", "ships: connect to the registry with "+token)
	set, report := mine(t, dir, pairs.Options{})
	if len(set.Pairs) == 0 || report.Secrets == 0 {
		t.Fatalf("%d pairs, %+v", len(set.Pairs), report)
	}
	all := fmt.Sprint(set)
	for _, s := range []string{token, token[8:30], "treasure"} {
		if strings.Contains(all, s) {
			t.Errorf("%q is in the set", s)
		}
	}
	if !strings.Contains(all, "leaves the harbour") {
		t.Error("nothing else is left either")
	}
}

func TestLimits(t *testing.T) {
	files := map[string]string{}
	for i := range 6 {
		var b strings.Builder
		fmt.Fprintf(&b, "package p%d\n", i)
		for j := range 60 {
			fmt.Fprintf(&b, "\n// Load%d reads cargo number %d of pier %d from its manifest.\nfunc Load%d() (int, error) { return manifest(%d, pier%d, cargo%d, \"abc\") }\n", j, j, i, j, j, i, j)
		}
		fmt.Fprintf(&b, "\n// the usual words again\nfunc usual%d() int { return crane%d + winch%d + hook%d + rope%d }\n", i, i, i, i, i)
		files[fmt.Sprintf("pier%d.go", i)] = b.String()
	}
	dir := folder(t, files)
	count := func(set adapt.Set) map[string]int {
		n := map[string]int{}
		for _, p := range set.Pairs {
			n[p.File]++
			if p.Q == "the usual words again" {
				t.Errorf("%s: a question that is everywhere", p.File)
			}
		}
		return n
	}
	set, report := mine(t, dir, pairs.Options{})
	for f, n := range count(set) {
		if n != 40 {
			t.Errorf("%s: %d pairs", f, n)
		}
	}
	if report.Over == 0 || report.Common == 0 {
		t.Errorf("%+v", report)
	}
	set, _ = mine(t, dir, pairs.Options{PerFile: 10, Max: 33})
	if n := count(set); len(set.Pairs) != 33 || len(n) != 6 {
		t.Errorf("%d pairs of %v", len(set.Pairs), n)
	}
}

// The project's own files, with whatever history they have, and real records.
func TestRealRepositories(t *testing.T) {
	race.SkipLong(t)
	for name, dir := range map[string]string{"project": filepath.Join("..", "..", "..", ".."), "decisions": ""} {
		t.Run(name, func(t *testing.T) {
			if dir == "" {
				dir = evaldata.Dir(t, "adr")
			}
			set, report := mine(t, dir, pairs.Options{})
			checkSet(t, set)
			least := map[string]int{pairs.SourceHeading: 50, pairs.SourcePath: 50}
			if name == "project" {
				least[pairs.SourceComment], least[pairs.SourceDecision] = 500, 5
				if report.History == "" {
					least[pairs.SourceCommitCode] = 5
				}
			}
			for src, n := range least {
				if got := set.Sources()[src]; got < n {
					t.Errorf("%d pairs of %s; %v", got, src, set.Sources())
				}
			}
		})
	}
}

func TestSameEachTime(t *testing.T) {
	dir := folder(t, sample)
	first, _ := mine(t, dir, pairs.Options{Index: repository.Options{Workers: 1}})
	second, _ := mine(t, dir, pairs.Options{Index: repository.Options{Workers: 4}})
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
}

func TestNothingToMine(t *testing.T) {
	set, report := mine(t, t.TempDir(), pairs.Options{})
	if len(set.Pairs)+len(set.Passages) > 0 || report.Files > 0 {
		t.Errorf("%+v", set)
	}
	if _, _, err := pairs.Mine(t.Context(), filepath.Join(t.TempDir(), "nowhere"), pairs.Options{}); err == nil {
		t.Error("a folder that is not there")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := pairs.Mine(ctx, folder(t, sample), pairs.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
