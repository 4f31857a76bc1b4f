package repository

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
)

func needGit(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
}

func commitAll(t testing.TB, dir, message string) string {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", message)
	return "git:" + git(t, dir, "rev-parse", "HEAD")
}

func commitsOf(sink *memory) []string {
	return slices.DeleteFunc(sink.paths(), func(p string) bool { return !strings.HasPrefix(p, "git:") })
}

func TestHistory(t *testing.T) {
	needGit(t)
	dir := gitRepo(t)
	write(t, dir, "pay/retry.go", "package pay\n")
	write(t, dir, "\x01odd\nname.txt", "x\n")
	first := commitAll(t, dir, "pay: retry three times\n\nThe gateway drops calls at night.\n\nFixes: #12\nSigned-off-by: A <a@example.com>")
	write(t, dir, "README.md", "# Pay\n")
	second := commitAll(t, dir, "docs: say what it is")
	sink := newMemory(t)
	r := index(t, dir, sink, Options{})
	if r.Commits != 2 || r.CommitsNew != 2 || r.History != "" {
		t.Fatalf("%+v", r)
	}
	c := sink.chunks[first][0]
	equal(t, "text", c.Text, "pay: retry three times\n\nThe gateway drops calls at night.\n\nFixes: #12\n\nFiles: \"odd\\nname.txt\", pay/retry.go")
	equal(t, "heading", c.Heading, "commit: pay: retry three times")
	when := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	e := c.Evidence[0]
	if e.Kind != ken.EvidenceGitHistory || "git:"+e.CommitSHA != first || !e.FetchedAt.Equal(when) || !c.CreatedAt.Equal(when) || c.SourceType != "git" {
		t.Errorf("%+v", c)
	}

	// Incremental: what is known is not read again.
	third := commitAll(t, dir, "third")
	if r := index(t, dir, sink, Options{}); r.Commits != 3 || r.CommitsNew != 1 || r.CommitsRemoved != 0 {
		t.Errorf("%+v", r)
	}
	// A rewritten history leaves commits behind.
	git(t, dir, "reset", "-q", "--soft", "HEAD~2")
	again := commitAll(t, dir, "docs: say it better")
	if r := index(t, dir, sink, Options{}); r.CommitsNew != 1 || r.CommitsRemoved != 2 {
		t.Errorf("%+v", r)
	}
	if got := commitsOf(sink); !slices.Contains(got, again) || slices.Contains(got, second) || slices.Contains(got, third) {
		t.Errorf("commits %v", got)
	}
	// The limit keeps the newest.
	index(t, dir, sink, Options{MaxCommits: 1})
	equal(t, "commits within the limit", commitsOf(sink), []string{again})
	index(t, dir, sink, Options{NoHistory: true})
	equal(t, "commits without history", len(commitsOf(sink)), 0)
}

func TestHistoryOfASubfolder(t *testing.T) {
	needGit(t)
	dir := gitRepo(t)
	write(t, dir, "a/x.md", "# A\n")
	write(t, dir, "b/y.md", "# B\n")
	both := commitAll(t, dir, "both")
	write(t, dir, "b/y.md", "# BB\n")
	commitAll(t, dir, "b alone")
	sink := newMemory(t)
	index(t, filepath.Join(dir, "a"), sink, Options{})
	equal(t, "commits", commitsOf(sink), []string{both})
	equal(t, "text", sink.chunks[both][0].Text, "both\n\nFiles: x.md")
}

func TestHistoryThatIsNotThere(t *testing.T) {
	sink := newMemory(t)
	sink.known["git:1"], sink.chunks["git:1"] = Known{}, []ken.Claim{{}}
	dir := tree(t, map[string]string{"a.md": "a"})
	if os.Getenv("GIT_DIR") == "" && findWorkTree(dir).top != "" {
		t.Skip("temporary folders lie in a work tree")
	}
	if r := index(t, dir, sink, Options{}); r.History != "not a git work tree" || r.CommitsRemoved != 1 {
		t.Errorf("no work tree: %+v", r)
	}
	needGit(t)
	dir = gitRepo(t)
	if r := index(t, dir, sink, Options{}); r.History != "no commits yet" {
		t.Errorf("no commits: %+v", r)
	}
	// Broken: the reachable commits are unknown, so the known ones stay.
	write(t, dir, ".git/HEAD", "nonsense\n")
	sink.known["git:1"], sink.chunks["git:1"] = Known{}, []ken.Claim{{}}
	if r := index(t, dir, sink, Options{}); !strings.HasPrefix(r.History, "git: ") || r.CommitsRemoved != 0 {
		t.Errorf("broken: %+v", r)
	}
	t.Setenv("PATH", "")
	if r := index(t, dir, sink, Options{}); r.History != "git is not installed" || r.CommitsRemoved != 0 {
		t.Errorf("no git: %+v", r)
	}
}

// A repository's own settings must not run programs when its history is read,
// and a hook's environment must not lead to another repository.
func TestHistoryRunsNothingElse(t *testing.T) {
	needGit(t)
	dir := gitRepo(t)
	write(t, dir, "a.md", "a")
	want := commitAll(t, dir, "one")
	ran := filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, kv := range [][2]string{{"log.showSignature", "true"}, {"gpg.program", script}, {"core.fsmonitor", script}, {"core.pager", script}, {"diff.external", script}} {
		git(t, dir, "config", kv[0], kv[1])
	}
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "other"))
	sink := newMemory(t)
	index(t, dir, sink, Options{})
	equal(t, "commits", commitsOf(sink), []string{want})
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program named by the repository ran")
	}
}

func TestHistoryEndsWithItsContext(t *testing.T) {
	needGit(t)
	dir := gitRepo(t)
	for range 3 {
		commitAll(t, dir, "x")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := Index(ctx, dir, newMemory(t), Options{Now: later, Progress: func(p Progress) {
		if p.Stage == StageCommits {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestTrimTrailers(t *testing.T) {
	for body, want := range map[string]string{
		"":                                   "",
		"Body.":                              "Body.",
		"Signed-off-by: A <a@b.c>":           "",
		"Body.\n\nSigned-off-by: A <a>":      "Body.",
		"Body.\n\nFixes: #1\nReviewed-by: B": "Body.\n\nFixes: #1",
		"Note: this is the body.\nIt has two lines.": "Note: this is the body.\nIt has two lines.",
		"A\n\nB: c\nd":                         "A\n\nB: c\nd",
		"A\n\n(cherry picked from commit abc)": "A",
	} {
		if got := trimTrailers(body); got != want {
			t.Errorf("%q: got %q, want %q", body, got, want)
		}
	}
}

func TestLongCommitsAreCut(t *testing.T) {
	x := &indexer{lim: newLimits(300, 40), o: Options{Now: later}}
	paths := make([]string, 99)
	for i := range paths {
		paths[i] = strings.Repeat("p", 9)
	}
	d := x.commitDocument(commit{sha: strings.Repeat("a", 40), subject: strings.Repeat("subject ", 40), body: strings.Repeat("A line of the body.\n", 60), paths: paths})
	if len(d.Chunks) < 5 || !strings.Contains(d.Chunks[len(d.Chunks)-1].Text, " more") {
		t.Errorf("%d chunks", len(d.Chunks))
	}
	for _, c := range d.Chunks {
		if err := c.Validate(); err != nil || len([]rune(c.Text)) > 300 {
			t.Errorf("%v: %q", err, c.Text)
		}
	}
}
