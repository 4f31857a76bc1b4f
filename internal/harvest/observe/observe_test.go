package observe_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding/outcome"
	"github.com/kenlayer/ken/internal/harvest/observe"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/store/memory"
)

func put(t *testing.T, root, name, text string) {
	t.Helper()
	p := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// see runs a command in a project and records what was seen.
func see(t *testing.T, root string, s memory.Store, args ...string) (observe.Report, []provenance.Recorded) {
	t.Helper()
	before := observe.TakeSnapshot(t.Context(), root)
	var out bytes.Buffer
	seen := observe.Report{Root: root, Dir: root, Result: observe.Run(observe.Command{Args: args, Dir: root, Stdout: &out, Stderr: &out})}
	seen.Changes = before.Changed(t.Context())
	if seen.Changes.Err != nil {
		t.Fatal(seen.Changes.Err)
	}
	var all []provenance.Recorded
	for _, c := range seen.Checks() {
		r, err := provenance.Record(t.Context(), s, c, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if t.Failed() {
		t.Log(out.String())
	}
	return seen, all
}

func behind(t *testing.T, s memory.Store, root, target string) []provenance.Claim {
	t.Helper()
	v, err := provenance.Of(t.Context(), s, provenance.Query{Target: target}, provenance.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return v.Claims
}

// A real run of go test is verified by its exit status and its tests, and found under
// the folder, the package and the test; when it fails, that supersedes it.
func TestGoTest(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no toolchain")
	}
	t.Setenv("GOFLAGS", strings.TrimSpace(os.Getenv("GOFLAGS")+" -count=1")) // what is built already is found again
	t.Setenv("GOWORK", "off")
	root, s := t.TempDir(), memory.New(memory.Options{})
	put(t, root, "go.mod", "module example.org/pay\n\ngo 1.21\n")
	put(t, root, "money/money.go", "package money\n\nfunc Add(a, b int) int { return a + b }\n")
	put(t, root, "money/money_test.go", "package money\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(Add(1, 2))\n\t}\n}\n")
	for _, args := range [][]string{{"go", "test", "-v", "./..."}, {"go", "test", "-json", "./money"}} {
		seen, _ := see(t, root, s, args...)
		if seen.Exit != 0 || len(seen.Tests) != 2 || seen.Counts != (outcome.Counts{Passed: 1, Complete: true}) {
			t.Fatalf("%q: exit %d, %+v", args, seen.Exit, seen.Tests)
		}
	}
	for _, target := range []string{"money", "./money", "example.org/pay/money"} {
		claims := behind(t, s, root, target)
		i := slices.IndexFunc(claims, func(c provenance.Claim) bool { return c.Text == "The tests of example.org/pay/money pass." })
		if i < 0 || claims[i].Tier != ken.Verified || len(claims[i].Evidence) != 3 || claims[i].Reinforcements != 1 {
			t.Fatalf("%s: %+v", target, claims)
		}
	}
	for _, c := range behind(t, s, root, "TestAdd") {
		if c.Text == "The tests of example.org/pay/money pass." != (c.Tier == ken.Verified) || !strings.Contains(c.Why, ": exit_code go test -") && c.Tier != ken.Verified {
			t.Errorf("%s because of %s", c.Tier, c.Why)
		}
	}
	put(t, root, "money/money.go", "package money\n\nfunc Add(a, b int) int { return a - b }\n")
	seen, _ := see(t, root, s, "go", "test", "-v", "./...")
	if seen.Exit != 1 || seen.Passed() {
		t.Fatalf("exit %d", seen.Exit)
	}
	var texts []string
	for _, c := range behind(t, s, root, "example.org/pay/money") {
		texts = append(texts, c.Text)
	}
	slices.Sort(texts)
	want := []string{"The command `go test -json ./money` succeeds.", // nobody ran that again
		"The command `go test -v ./...` fails with exit status 1: failing are TestAdd, example.org/pay/money.", "The tests of example.org/pay/money fail."}
	if !slices.Equal(texts, want) {
		t.Errorf("%q", texts)
	}
}

// Changes are what git says, or what times and sizes say.
// A run of some of the tests speaks for these, not for the package.
func TestSomeTestsAreNotThePackage(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no toolchain")
	}
	t.Setenv("GOFLAGS", strings.TrimSpace(os.Getenv("GOFLAGS")+" -count=1"))
	t.Setenv("GOWORK", "off")
	root, s := t.TempDir(), memory.New(memory.Options{})
	put(t, root, "go.mod", "module m\n\ngo 1.21\n")
	put(t, root, "m_test.go", "package m\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\n\nfunc TestBad(t *testing.T) { t.Fatal(1) }\n")
	if seen, _ := see(t, root, s, "go", "test", "-v", "-run", "TestGood", "."); seen.Exit != 0 {
		t.Fatalf("exit %d", seen.Exit)
	}
	texts := func() (out []string) {
		for _, c := range behind(t, s, root, "m") {
			if strings.HasPrefix(c.Text, "The tests of") {
				out = append(out, c.Text+" "+c.Tier.String())
			}
		}
		slices.Sort(out)
		return out
	}
	some := "The tests of m that `-run TestGood` selects pass. Inferred"
	if got := texts(); !slices.Equal(got, []string{some}) {
		t.Errorf("%q", got)
	}
	see(t, root, s, "go", "test", "-v", ".")
	if got := texts(); !slices.Equal(got, []string{"The tests of m fail. Inferred", some}) {
		t.Errorf("%q", got)
	}
}

func TestChangedFiles(t *testing.T) {
	for _, by := range []string{"git", "times"} {
		t.Run(by, func(t *testing.T) {
			root, s := t.TempDir(), memory.New(memory.Options{})
			put(t, root, ".gitignore", "*.log\n")
			for _, name := range []string{"same.txt", "edited.txt", "deleted.txt", "dirty.txt", "touched.txt", "sub/moved.txt"} {
				put(t, root, name, name)
			}
			if by == "git" {
				if _, err := exec.LookPath("git"); err != nil {
					t.Skip("no git")
				}
				for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "first"}} {
					cmd := exec.CommandContext(t.Context(), "git", args...)
					cmd.Dir = root
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Fatalf("%s: %s", err, out)
					}
				}
			}
			put(t, root, "dirty.txt", "before")
			script := "echo x >> edited.txt; rm deleted.txt; mkdir -p new .ken; echo n > new/made.txt; echo l > a.log; echo s > .env; echo k > .ken/k; mv sub/moved.txt sub/there.txt; echo t > gone; rm gone"
			if by == "git" { // a commit changes no file, and a file written as it was neither
				script += "; printf touched.txt > touched.txt; git -c user.name=a -c user.email=a@example.org commit -q -m second dirty.txt"
			}
			seen, _ := see(t, root, s, "sh", "-c", script)
			var got []string
			for _, f := range seen.Changes.Files {
				mark := ""
				if f.Deleted {
					mark = "-"
				}
				if f.New {
					mark = "+"
				}
				got = append(got, mark+f.Path)
			}
			want := []string{"-deleted.txt", "edited.txt", "+new/made.txt", "-sub/moved.txt", "+sub/there.txt"}
			if !slices.Equal(got, want) || seen.Changes.By != by {
				t.Fatalf("by %s: %q", seen.Changes.By, got)
			}
			c := behind(t, s, root, "new/made.txt")
			if len(c) != 1 || !strings.Contains(c[0].Text, "changed 5 files: deleted.txt (deleted), edited.txt, new/made.txt") {
				t.Fatalf("%+v", c)
			}
			states := map[string]provenance.State{}
			put(t, root, "edited.txt", "again")
			for _, p := range behind(t, s, root, "new/made.txt")[0].Evidence {
				states[p.Reference] = p.State
			}
			if states["edited.txt"] != provenance.Changed || states["new/made.txt"] != provenance.Stands {
				t.Errorf("%v", states)
			}
		})
	}
}

// A command that hangs and is interrupted is told to end, and is no verdict on what it
// was to show.
func TestInterrupted(t *testing.T) {
	root, s := t.TempDir(), memory.New(memory.Options{})
	see(t, root, s, "sh", "-c", "exit 0", "slow")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	signals := make(chan os.Signal)
	go func() {
		_, _ = r.Read(make([]byte, 8)) // it runs, and its trap is set
		signals <- syscall.SIGTERM
	}()
	args := []string{"sh", "-c", "trap 'exit 5' TERM; echo up; while :; do sleep 0.01; done"}
	seen := observe.Report{Root: root, Dir: root, Result: observe.Run(observe.Command{Args: args, Stdout: w, Signals: signals})}
	if seen.Exit != 5 || seen.Interrupted != syscall.SIGTERM || seen.Passed() {
		t.Fatalf("%+v", seen.Result)
	}
	checks := seen.Checks()
	if len(checks) != 1 || checks[0].Passed || !strings.Contains(checks[0].Statement, "did not end by itself: it was interrupted (terminated)") {
		t.Errorf("%+v", checks)
	}
	if e := checks[0].Evidence[0]; *e.ExitCode != 5 || !strings.HasPrefix(e.Detail, "interrupted (terminated) after ") {
		t.Errorf("%+v", e)
	}
}

// A signal that ends the command itself, and what it leaves running.
func TestEndings(t *testing.T) {
	observe.Impatient(t, 100*time.Millisecond)
	for _, tt := range []struct {
		args []string
		exit int
		says string
	}{
		{[]string{"sh", "-c", "kill -KILL $$"}, 137, "is ended by the signal killed."},
		{[]string{"sh", "-c", "exit 3"}, 3, "fails with exit status 3."},
		{[]string{"no-such-command-anywhere"}, 127, "can't be started."},
		{[]string{"/"}, 126, "can't be started."},
		{[]string{"sh", "-c", "sleep 60 & exit 0"}, 0, "succeeds."},
	} {
		var out bytes.Buffer
		begun := time.Now()
		seen := observe.Report{Root: t.TempDir(), Dir: t.TempDir(), Result: observe.Run(observe.Command{Args: tt.args, Stdout: &out, Stderr: &out})}
		c := seen.Checks()[1]
		if seen.Exit != tt.exit || !strings.HasSuffix(c.Statement, tt.says) || c.Passed != (tt.exit == 0) || time.Since(begun) > 30*time.Second {
			t.Errorf("%q: exit %d, %s, after %s", tt.args, seen.Exit, c.Statement, time.Since(begun))
		}
	}
}

// What passes through a filter has the filter's exit status, which says nothing of tests.
func TestAFilterSpeaksForNobody(t *testing.T) {
	root := t.TempDir()
	for script, pieces := range map[string]int{"echo 'ok  \tpay/store\t0.1s'": 2, "echo 'ok  \tpay/store\t0.1s' | cat": 1} {
		var out bytes.Buffer
		seen := observe.Report{Root: root, Dir: root, Result: observe.Run(observe.Command{Args: []string{"sh", "-c", script}, Stdout: &out})}
		c := seen.Checks()
		if len(c) != 3 || c[2].Target != "pay/store" || len(c[2].Evidence) != pieces {
			t.Errorf("%s: %+v", script, c)
		}
	}
}

func TestLine(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"go", "test", "./..."}, "go test ./..."},
		{[]string{"sh", "-c", "echo 'a b' $X", ""}, `sh -c 'echo '\''a b'\'' $X' ''`},
		{[]string{"grep", "größe", "a*"}, "grep größe 'a*'"},
	} {
		if got := observe.Line(tt.args); got != tt.want {
			t.Errorf("%q: %s", tt.args, got)
		}
	}
	for _, args := range [][]string{
		{"deploy", "--password", "hunter2hunter2"}, {"deploy", "--password=hunter2hunter2"}, {"deploy", "--api-key", "hunter2hunter2"}, {"curl", "-H", "Authorization: Bearer hunter2hunter2hunter2"},
		{"env", "DB_PASSWORD=hunter2hunter2", "make"}, {"psql", "postgres://ada:hunter2hunter2@db.example.org/pay"}, {"sh", "-c", "TOKEN=hunter2hunter2 make && deploy --token 'hunter2 hunter2'"},
	} {
		if got := observe.Line(args); strings.Contains(got, "hunter2") {
			t.Errorf("%q: %s", args, got)
		}
	}
	if long := observe.Line([]string{strings.Repeat("ü", 1000)}); len(long) > 400 || !strings.HasSuffix(long, "…") {
		t.Errorf("%d bytes", len(long))
	}
}

// An output of any length costs little memory, and nothing of it is kept.
func TestALongOutput(t *testing.T) {
	var n counter
	r := observe.Run(observe.Command{Args: []string{"sh", "-c", "yes 'no test at all, secret words' | head -c 4000000; echo; echo '--- FAIL: TestLast (0.00s)'"}, Stdout: &n})
	if n < 4_000_000 || len(r.Tests) != 1 || r.Tests[0].Name != "TestLast" {
		t.Errorf("%d bytes, %+v", n, r.Tests)
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// Who reads slowly gets all of it, however long the command is over.
func TestASlowReader(t *testing.T) {
	observe.Impatient(t, 10*time.Millisecond)
	slow := &slowly{}
	r := observe.Run(observe.Command{Args: []string{"sh", "-c", "i=0; while [ $i -lt 500 ]; do echo 'ok 1 - line number' $i; i=$((i+1)); done"}, Stdout: slow})
	if want := 500 * len("ok 1 - line number "); slow.n < want || len(r.Tests) != 500 {
		t.Errorf("%d bytes, %d tests", slow.n, len(r.Tests))
	}
}

// slowly makes its first writer wait for longer than a silent pipe is waited for.
type slowly struct {
	n    int
	once bool
}

func (s *slowly) Write(p []byte) (int, error) {
	if !s.once {
		s.once = true
		<-time.After(200 * time.Millisecond)
	}
	s.n += len(p)
	return len(p), nil
}
