package trust_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/durable"
	"github.com/kenlayer/ken/internal/trust"
)

// someone gives the test a user of their own, and returns the folder for their state.
func someone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	return filepath.Join(dir, ".local", "state", "ken")
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// marked makes a project with a state that Ken made, and something in it.
func marked(t *testing.T) (root, state string) {
	t.Helper()
	root = t.TempDir()
	state = filepath.Join(root, ".ken", "state")
	if err := trust.Mark(root, state); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(state, "default", "ken.db"), "x")
	return root, state
}

// elsewhere copies a project, so that nothing that this process remembers of it counts.
func elsewhere(t *testing.T, root string) (copied, state string) {
	t.Helper()
	copied = t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	return copied, filepath.Join(copied, ".ken", "state")
}

func find(t *testing.T, root, state string) trust.State {
	t.Helper()
	s, err := trust.FindState(root, state, false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAFreshStateIsMarkedAndKnownAgain(t *testing.T) {
	own := someone(t)
	root := t.TempDir()
	state := filepath.Join(root, ".ken", "state")
	if s := find(t, root, state); s.Dir != state || s.Foreign != "" {
		t.Errorf("a state that is not there: %+v", s)
	}
	for range 2 {
		if err := trust.Mark(root, state); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(state, "default", "ken.db"), "x")
	trust.ForgetMade()
	if s := find(t, root, state); s.Dir != state || s.Foreign != "" {
		t.Errorf("the user's own: %+v", s)
	}
	info, err := os.Stat(filepath.Join(own, "secret"))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestAMovedStateAsksAndIsAdopted(t *testing.T) {
	own := someone(t)
	was, _ := marked(t)
	root, state := elsewhere(t, was)
	s := find(t, root, state)
	if !strings.HasPrefix(s.Dir, filepath.Join(own, "projects")) || !strings.Contains(s.Foreign, "made for "+trust.Real(was)) {
		t.Errorf("%+v", s)
	}
	if err := trust.Mark(root, state); err != nil {
		t.Fatal(err)
	}
	if s := find(t, root, state); s.Foreign == "" {
		t.Error("Mark made a foreign state the user's")
	}
	if err := trust.Adopt(root, state); err != nil {
		t.Fatal(err)
	}
	trust.ForgetMade()
	if s := find(t, root, state); s.Dir != state || s.Foreign != "" {
		t.Errorf("after consent: %+v", s)
	}
	if gone, err := trust.Disown(root, state); !gone || err != nil {
		t.Error(gone, err)
	}
	if s := find(t, root, state); s.Foreign == "" {
		t.Error("the consent was taken back, and the state is still used")
	}
}

// A state that can only be read can be adopted, too.
func TestAStateThatCantBeWritten(t *testing.T) {
	someone(t)
	was, _ := marked(t)
	root, state := elsewhere(t, was)
	// A folder in the way of the mark stands for a state that can only be read.
	mark := filepath.Join(state, "made-here.json")
	if err := errors.Join(os.Remove(mark), os.Mkdir(mark, 0o755)); err != nil {
		t.Fatal(err)
	}
	if s := find(t, root, state); s.Foreign == "" {
		t.Error("a state without a mark is used")
	}
	if err := trust.Adopt(root, state); err != nil {
		t.Fatal(err)
	}
	trust.ForgetMade()
	if s := find(t, root, state); s.Dir != state || s.Foreign != "" {
		t.Errorf("after consent: %+v", s)
	}
	if gone, err := trust.Disown(root, state); !gone || err != nil {
		t.Error(gone, err)
	}
	if s := find(t, root, state); s.Foreign == "" {
		t.Error("the consent was taken back, and the state is still used")
	}
}

func TestAnotherUsersSecretDoesNotFit(t *testing.T) {
	someone(t)
	root, state := marked(t)
	trust.ForgetMade()
	someone(t)
	if s := find(t, root, state); s.Foreign == "" {
		t.Error("another user's state is used")
	}
}

// Without a home folder a state is known as long as the process runs, and refused later.
func TestWithoutAHome(t *testing.T) {
	someone(t)
	root := t.TempDir()
	state := filepath.Join(root, ".ken", "state")
	// A file in the way of the folder stands for a home that can't be written.
	blocked := filepath.Join(t.TempDir(), "file")
	put(t, blocked, "")
	t.Setenv("XDG_STATE_HOME", blocked)
	if err := trust.Mark(root, state); !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "" {
		t.Errorf("%v", err)
	}
	put(t, filepath.Join(state, "default", "ken.db"), "x")
	if s := find(t, root, state); s.Dir != state {
		t.Errorf("the process that made it: %+v", s)
	}
	trust.ForgetMade()
	s, err := trust.FindState(root, state, false)
	if !errors.Is(err, ken.ErrUnavailable) || !strings.Contains(ken.Hint(err), "XDG_STATE_HOME") || s.Foreign == "" || s.Dir != "" {
		t.Errorf("another process: %+v, %v", s, err)
	}
}

func TestASecretThatOthersCanReadIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes there")
	}
	own := someone(t)
	root, state := marked(t)
	trust.ForgetMade()
	if err := os.Chmod(filepath.Join(own, "secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s := find(t, root, state); !strings.Contains(s.Foreign, "can be read by other users") {
		t.Errorf("%+v", s)
	}
}

// A repository within the project, such as a submodule, brings files as the project's own does.
func TestARepositoryWithinBringsAState(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	root, state := marked(t)
	trust.ForgetMade()
	for _, args := range [][]string{{"init", "-q"}, {"add", "-Af", filepath.Base(state)}} {
		if s := find(t, root, state); s.Foreign != "" {
			t.Fatalf("before git %v: %+v", args, s)
		}
		if out, err := exec.Command("git", append([]string{"-C", filepath.Dir(state)}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if s := find(t, root, state); s.Foreign == "" || s.Dir == state {
		t.Errorf("a state that a repository within brought is used: %+v", s)
	}
}

// Where the home folder is the repository, what git brought into it is not the user's.
func TestARepositoryInHomeBringsNoUser(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	someone(t)
	root := os.Getenv("HOME")
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	put(t, filepath.Join(root, ".config", "ken", "config.yaml"), "")
	put(t, filepath.Join(root, ".local", "state", "ken", "secret"), strings.Repeat("s", 40))
	git("init", "-q")
	if trust.Brought(root, trust.ConfigFile()) {
		t.Error("a file that git does not have")
	}
	git("add", "-Af")
	trust.ForgetMade()
	if !trust.Brought(root, trust.ConfigFile()) {
		t.Error("a configuration that git brought is the user's")
	}
	if err := trust.Give(root, "x", "hash", time.Now()); !errors.Is(err, ken.ErrUnavailable) || trust.Given(root, "hash") {
		t.Errorf("consent among what git brought: %v", err)
	}
}

// While another process writes the mark, the folder of a new project is still its own.
func TestAMarkThatIsBeingWritten(t *testing.T) {
	someone(t)
	root := t.TempDir()
	state := filepath.Join(root, ".ken", "state")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	err := durable.Replace(filepath.Join(state, "made-here.json"), 0o600, func(io.Writer) error {
		if s := find(t, root, state); s.Dir != state || s.Foreign != "" {
			t.Errorf("%+v", s)
		}
		return trust.Mark(root, state)
	})
	if err != nil {
		t.Error(err)
	}
}

// Processes that start at the same time make one secret, and marks that fit it.
func TestMarksAtTheSameTime(t *testing.T) {
	someone(t)
	root := t.TempDir()
	state := filepath.Join(root, ".ken", "state")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if s, err := trust.FindState(root, state, false); err != nil || s.Foreign != "" {
				t.Errorf("%+v, %v", s, err)
			}
			if err := trust.Mark(root, state); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	put(t, filepath.Join(state, "default", "ken.db"), "x")
	trust.ForgetMade()
	if s := find(t, root, state); s.Foreign != "" {
		t.Errorf("%+v", s)
	}
}

func TestConsents(t *testing.T) {
	own := someone(t)
	root := t.TempDir()
	if trust.Given(root, "a") {
		t.Error("nobody agreed")
	}
	if err := trust.Give(root, "ken.yaml", "a", time.Now()); err != nil {
		t.Fatal(err)
	}
	if !trust.Given(root, "a") || trust.Given(root, "b") || trust.Given(t.TempDir(), "a") {
		t.Error("a consent counts for its hash and its folder alone")
	}
	all, err := trust.List(root)
	if err != nil || len(all) != 1 || all[0].Root != trust.Real(root) {
		t.Errorf("%+v, %v", all, err)
	}
	files, err := filepath.Glob(filepath.Join(own, "trust", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	put(t, files[0], "nonsense")
	if trust.Given(root, "a") {
		t.Error("a file that can't be read is a consent")
	}
	if gone, err := trust.Revoke(root); !gone || err != nil {
		t.Error(gone, err)
	}
	if gone, err := trust.Revoke(root); gone || err != nil {
		t.Error(gone, err)
	}
}

func TestHomeFolders(t *testing.T) {
	someone(t)
	h := os.Getenv("HOME")
	for dir, want := range map[string]bool{h: true, filepath.Dir(h): true, filepath.VolumeName(h) + string(filepath.Separator): true, filepath.Join(h, "project"): false} {
		if trust.IsHome(dir) != want {
			t.Errorf("%s: %v", dir, !want)
		}
	}
}
