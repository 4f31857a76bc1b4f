package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/race"
)

// Words that must not leave: the values of variables, and what stands in files outside of
// the repository or in somebody else's state.
const (
	keyMark  = "keymarkkeymark"
	fileMark = "quincetrellis"
)

// effect is something that a hostile repository could bring about.
type effect string

const (
	connects effect = "the repository's address is asked"
	sendsKey effect = "a key of the environment is sent to it"
	sendsOwn effect = "the user's own service is sent what the repository chose"
	runs     effect = "a command of the repository runs"
	outside  effect = "a file outside is made or changed"
	shows    effect = "what is not the project's is shown"
	never    effect = "" // not after consent either
)

// hostile is a repository that a stranger wrote.
type hostile struct {
	name  string
	own   string            // the user's own configuration
	files map[string]string // $URL, $MINE and $OUT stand for the two services and the folder outside
	links map[string]string
	make  func(w *world)
	do    [][]string // what the user does in it; nil: asks
	does  effect     // after consent

	// springs shows that a trap which consent does not open works when it is sprung by
	// hand.
	springs func(w *world) bool
}

// world is the machine on which a hostile repository is opened.
type world struct {
	*testing.T
	repo, out, victim string
	url, mine         string
	theirs, own       *recorder
	said              bytes.Buffer
	before            map[string]string // what lies outside
}

// recorder is a service that notes what it is sent.
type recorder struct {
	mu  sync.Mutex
	got []string
}

func (r *recorder) serve(w *world, model http.Handler) string {
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.got = append(r.got, fmt.Sprint(req.Method, " ", req.URL, "\n", req.Header, "\n", string(body)))
		r.mu.Unlock()
		req.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(rw, req)
	}))
	w.Cleanup(srv.Close)
	return srv.URL
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.got, "\n")
}

func (r *recorder) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = nil
}

// newWorld makes the machine and puts the repository on it.
func newWorld(t *testing.T, h *hostile) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{T: t, repo: filepath.Join(dir, "repo"), out: filepath.Join(dir, "out"), victim: filepath.Join(dir, "victim"), theirs: &recorder{}, own: &recorder{}}
	model := &fakeModel{requests: filepath.Join(dir, "requests")}
	w.url, w.mine = w.theirs.serve(w, model.handler()), w.own.serve(w, model.handler())
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "user"))
	// What a turn finds must not depend on the machine's load.
	w.put(filepath.Join(dir, "config", "ken", "config.yaml"), "retrieval: {deadline: 30s}\n"+h.own)
	// The first go command of a user starts a process for telemetry, which would go on to write here when the test has ended.
	w.put(filepath.Join(dir, "config", "go", "telemetry", "mode"), "off\n")
	w.put(filepath.Join(w.out, "secret.md"), "The harbour opens with "+fileMark+".\n")
	w.put(filepath.Join(w.repo, "go.mod"), "module hostile.test\n")
	w.put(filepath.Join(w.repo, "harbour.md"), "The harbour lies in the north.\n")
	for name, text := range h.files {
		w.put(filepath.Join(w.repo, name), text)
	}
	for name, to := range h.links {
		w.link(filepath.Join(w.repo, name), to)
	}
	if h.make != nil {
		h.make(w)
	}
	w.before = w.outside()
	return w
}

func (w *world) words(s string) string {
	return strings.NewReplacer("$URL", w.url, "$MINE", w.mine, "$OUT", w.out, "$VICTIM", w.victim).Replace(s)
}

func (w *world) put(path, text string) {
	w.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(w.words(text)), 0o755)); err != nil {
		w.Fatal(err)
	}
}

func (w *world) link(path, to string) {
	w.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.RemoveAll(path), os.Symlink(w.words(to), path)); err != nil {
		w.Fatal(err)
	}
}

// git runs git in the repository, with all that its configuration says.
func (w *world) git(args ...string) string {
	w.Helper()
	cmd := exec.Command("git", append([]string{"-C", w.repo, "-c", "user.name=eve", "-c", "user.email=eve@evil.test", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// commit puts all files of the repository under git.
func (w *world) commit() {
	w.Helper()
	w.git("init", "-q")
	w.git("add", "-Af")
	w.git("commit", "-qm", "everything")
}

// ken runs a command in the repository.
func (w *world) ken(args ...string) int {
	w.Helper()
	for i := range args {
		args[i] = w.words(args[i])
	}
	return run(context.Background(), append([]string{"-C", w.repo}, args...), cli.Streams{In: strings.NewReader("harbour\n"), Out: &w.said, Err: &w.said})
}

// outside is what lies outside of the repository: paths and contents.
func (w *world) outside() map[string]string {
	w.Helper()
	all := map[string]string{}
	for _, dir := range []string{w.out, w.victim} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || strings.Contains(path, "/.processes") {
				return nil // the victim's folder need not exist
			}
			b, _ := os.ReadFile(path)
			all[path] = fmt.Sprint(e.Type(), string(b))
			return nil
		})
		if err != nil {
			w.Fatal(err)
		}
	}
	return all
}

// effects runs what the user does, and says what came of it.
func (w *world) effects(h *hostile) []effect {
	w.Helper()
	w.said.Reset()
	w.theirs.clear()
	w.own.clear()
	do := h.do
	if do == nil {
		do = [][]string{{"ask", "-q", "How does the harbour open?"}}
	}
	for _, args := range do {
		from := w.said.Len()
		w.ken(slices.Clone(args)...)
		if args[0] == "ask" { // what was cut is listed for the person, and not told
			if at := bytes.Index(w.said.Bytes()[from:], []byte("\ncut: ")); at >= 0 {
				w.said.Truncate(from + at)
			}
		}
	}
	var all []effect
	note := func(is bool, e effect) {
		if is {
			all = append(all, e)
		}
	}
	sent := w.theirs.text()
	note(sent != "", connects)
	note(strings.Contains(sent, keyMark), sendsKey)
	note(strings.Contains(w.own.text(), "evil/"), sendsOwn)
	_, err := os.Lstat(filepath.Join(w.out, "ran"))
	note(err == nil, runs)
	now := w.outside()
	for path, text := range now {
		if was, ok := w.before[path]; !ok || was != text {
			if filepath.Base(path) != "ran" {
				note(!slices.Contains(all, outside), outside)
				w.Logf("outside: %s", path)
			}
		}
	}
	for path := range w.before {
		if _, ok := now[path]; !ok {
			note(!slices.Contains(all, outside), outside)
		}
	}
	note(strings.Contains(w.said.String(), fileMark) || strings.Contains(w.said.String(), keyMark), shows)
	return all
}

// TestHostileRepositories opens folders that strangers wrote. Nothing leaves and nothing
// happens before the user's consent; that it would, is shown by giving the consent, or by
// springing the trap by hand.
func TestHostileRepositories(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	race.SkipLong(t)
	for _, name := range []string{"OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DATABASE_URL", "HOSTILE_KEY"} {
		t.Setenv(name, keyMark)
	}
	t.Setenv("KEN_CONFIG", "")
	t.Setenv("OPENAI_BASE_URL", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	cases := slices.Concat(hostileConfigurations(), hostileStates(t), hostileGit(), hostileFiles())
	if len(cases) < 60 {
		t.Errorf("%d hostile repositories", len(cases))
	}
	seen := map[string]bool{}
	for _, h := range cases {
		if seen[h.name] {
			t.Errorf("two are called %q", h.name)
		}
		seen[h.name] = true
		t.Run(h.name, func(t *testing.T) {
			w := newWorld(t, &h)
			if got := w.effects(&h); len(got) > 0 {
				t.Errorf("before consent: %q\n%s\n%s", got, w.said.String(), w.theirs.text())
			}
			if h.does == never {
				if h.springs == nil || !h.springs(w) {
					t.Error("nothing shows that this could fail")
				}
				return
			}
			if w.ken("trust", "--yes") != cli.ExitOK {
				t.Fatalf("trust: %s", &w.said)
			}
			if got := w.effects(&h); !slices.Contains(got, h.does) {
				t.Errorf("after consent: %q, want %q: nothing shows that this could fail\n%s", got, h.does, w.said.String())
			}
		})
	}
	t.Logf("%d hostile repositories", len(cases))
}
