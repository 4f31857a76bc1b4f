package repository

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestIgnoreAgreesWithGit asks git about every pattern.
func TestIgnoreAgreesWithGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := gitRepo(t)
	paths := []string{
		"a", "b", "a/b", "a/x/b", "a/x/a/b", "x/a/b", "foo/a/b", "foo.log", "d/foo.log", "x.o", "x.c", "#x", "!x", "aXXb",
		"e/d/x", "d/x", "a b", "a ", "1x", "bx", "é", "secrets/p/secrets/a.txt", "k.pem", "x]", "*", `a\b`, "q/r/s/t",
	}
	for _, pat := range []string{
		"a", "/a", "a/", "a/b", "**/a/b", "a/**/b", "a/**", "**/b", "**", "/**", "*/b", "/*", "*", "*.log", "!*.log", "*.[!o]",
		"*.[^o]", "*.[a-o]", "[[:digit:]]x", "[[:alpha:]]x", "[]x]x", "x]", "[x", `\#x`, `\!x`, "#x", "a**b", "a*b", "a/**b",
		"d/x", "/d/x", "x/", "a ", `a\ `, "*.log\r", "?", "??", "**/secrets/*.txt", "secrets/**/a.txt", "q/**/t", "q/*/t",
		"**/r/", "/", "", " ", "!", "//a", `a\\b`, `\*`, "*\\", "foo/**/", "q/r/", "\ufeffa",
	} {
		t.Run(pat, func(t *testing.T) {
			write(t, dir, ".gitignore", pat+"\n")
			list := parsePatterns(pat+"\n", false)
			cmd := exec.CommandContext(t.Context(), "git", "check-ignore", "-z", "--stdin", "--no-index")
			cmd.Dir, cmd.Stdin = dir, strings.NewReader(strings.Join(paths, "\x00")+"\x00")
			out, _ := cmd.Output() // fails when nothing is ignored
			want := map[string]bool{}
			for p := range strings.SplitSeq(string(out), "\x00") {
				want[p] = true
			}
			for _, p := range paths {
				if got := ignoredOnTheWay(list, p); got != want[p] {
					t.Errorf("%q: ignored = %v, git says %v", p, got, want[p])
				}
			}
		})
	}
}

// ignoredOnTheWay asks about each folder above a path, as the walk does.
func ignoredOnTheWay(list []pattern, p string) bool {
	stack := []patterns{{list: list}}
	for i := range len(p) + 1 {
		if i < len(p) && p[i] != '/' {
			continue
		}
		if v, _ := match(stack, p[:i], i < len(p)); v == ignored {
			return true
		}
	}
	return false
}

func TestIgnoreTakesBoundedTime(t *testing.T) {
	list := parsePatterns(strings.Repeat("**/a/", 40)+"b\n"+strings.Repeat("a*", 40)+"b\n", false)
	if v, _ := match([]patterns{{list: list}}, strings.Repeat("a/", 200)+strings.Repeat("a", 200), false); v != undecided {
		t.Error("matched")
	}
}

func gitRepo(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	return dir
}

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return gitAt(t, dir, "2026-03-01T12:00:00Z", args...)
}

// gitAt runs git at a time.
func gitAt(t testing.TB, dir, at string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_AUTHOR_DATE="+at, "GIT_COMMITTER_DATE="+at)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	full := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestIgnoreOfOneFile(t *testing.T) {
	g := ParseIgnore("# what goes\nstate/cache/\n*.tmp\n!keep.tmp\n/top.json\n\n")
	for rel, want := range map[string]bool{
		"state/cache/a": true, "state/cache/keep.tmp": true, "state/a.tmp": true, "state/keep.tmp": false,
		"top.json": true, "state/top.json": false, "state/cache": false, "state/b": false,
	} {
		if got := g.Matches(rel, false); got != want {
			t.Errorf("%s: %v", rel, got)
		}
	}
	if !g.Matches("state/cache", true) || !ParseIgnore("# nothing\n").Empty() || g.Empty() {
		t.Error("folders, or emptiness")
	}
}
