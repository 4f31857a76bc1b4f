package main

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/trust"
)

const markFile = "made-here.json"

// publisher makes a state on a stranger's machine, in which the harbour opens with what no
// user of the tests ever said.
func publisher(t *testing.T) (state string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "stranger"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	root := filepath.Join(dir, "theirs")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if status, _, said := kenIn(t, root, "learn", "The harbour opens with "+fileMark+"."); status != cli.ExitOK {
		t.Fatal(said)
	}
	return filepath.Join(root, ".ken", "state")
}

func hostileStates(t *testing.T) []hostile {
	theirs := publisher(t)
	brings := func(more ...func(w *world)) func(w *world) {
		return func(w *world) {
			if err := os.CopyFS(filepath.Join(w.repo, ".ken", "state"), os.DirFS(theirs)); err != nil {
				w.Fatal(err)
			}
			for _, f := range more {
				f(w)
			}
		}
	}
	mark := func(change func(m map[string]any, w *world)) func(w *world) {
		return func(w *world) {
			path := filepath.Join(w.repo, ".ken", "state", markFile)
			var m map[string]any
			b, err := os.ReadFile(path)
			if err = errors.Join(err, json.Unmarshal(b, &m)); err != nil {
				w.Fatal(err)
			}
			change(m, w)
			if b, err = json.Marshal(m); err != nil {
				w.Fatal(err)
			}
			w.put(path, string(b))
		}
	}
	here := func(m map[string]any, w *world) {
		m["root"], m["path"] = trust.Real(w.repo), trust.Real(filepath.Join(w.repo, ".ken", "state"))
	}
	// mine is a state that the user made in the repository.
	mine := func(w *world) {
		if w.ken("learn", "The pier is closed.") != cli.ExitOK {
			w.Fatal(w.said.String())
		}
	}
	ask := []string{"ask", "-q", "How does the harbour open?"}
	// swaps a part of the user's own state, as a pull does that knows of it.
	pulled := func(w *world) {
		mine(w)
		if err := os.RemoveAll(filepath.Join(w.repo, ".ken", "state", "default")); err != nil {
			w.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(w.repo, ".ken", "state", "default"), os.DirFS(filepath.Join(theirs, "default"))); err != nil {
			w.Fatal(err)
		}
		w.commit()
	}
	linked := func(name, to string) func(w *world) {
		return func(w *world) {
			w.makeVictim()
			w.link(filepath.Join(w.repo, name), to)
		}
	}
	return []hostile{
		{name: "a state", make: brings(), does: shows},
		{name: "a state for recall", make: brings(), do: [][]string{{"recall", "harbour"}}, does: shows},
		{name: "a state for an export", make: brings(), do: [][]string{{"export"}}, does: shows},
		{name: "a state for a chat", make: brings(), own: "upstream: {base_url: '$MINE/v1', model: parrot}", do: [][]string{{"chat"}, {"recall", "harbour"}}, does: shows},
		{name: "a committed state", make: brings((*world).commit), does: shows},
		{name: "a state without a mark", make: brings(func(w *world) { os.Remove(filepath.Join(w.repo, ".ken", "state", markFile)) }), does: shows},
		{name: "a state with an empty mark", make: brings(func(w *world) { w.put(filepath.Join(w.repo, ".ken", "state", markFile), "{}") }), does: shows},
		{name: "a mark for this place without the secret", make: brings(mark(here)), does: shows},
		{name: "a mark that was adopted elsewhere", make: brings(mark(func(m map[string]any, w *world) { here(m, w); m["adopted"] = true })), does: shows},
		{name: "a mark without a seal", make: brings(mark(func(m map[string]any, w *world) { here(m, w); m["mac"] = "" })), does: shows},
		{name: "a mark that is a link to another state's", make: func(w *world) {
			w.makeVictim()
			brings()(w)
			w.link(filepath.Join(w.repo, ".ken", "state", markFile), "$VICTIM/.ken/state/"+markFile)
		}, does: shows},
		{name: "another state of the user's, copied", make: func(w *world) {
			w.makeVictim()
			if err := os.CopyFS(filepath.Join(w.repo, ".ken", "state"), os.DirFS(filepath.Join(w.victim, ".ken", "state"))); err != nil {
				w.Fatal(err)
			}
		}, does: shows},
		{name: "the user's own state, with files that a pull brought", make: pulled, does: shows},
		{name: "a state that is a link to another project's", make: linked(".ken/state", "$VICTIM/.ken/state"), does: shows},
		{name: "a state that is a link in the repository", make: func(w *world) {
			brings()(w)
			if err := os.Rename(filepath.Join(w.repo, ".ken", "state"), filepath.Join(w.repo, "store")); err != nil {
				w.Fatal(err)
			}
			w.link(filepath.Join(w.repo, ".ken", "state"), "../store")
		}, does: shows},
		{name: "a folder .ken that is a link to another project's", make: linked(".ken", "../victim/.ken"), does: shows},
		{name: "an owner's folder that is a link", make: linked(".ken/state/default", "$VICTIM/.ken/state/default"), does: shows},
		{name: "a store's file that is a link", make: linked(".ken/state/default/ken.db", "$VICTIM/.ken/state/default/ken.db"), does: shows},
		{name: "a state that is a link to what is not there yet", links: map[string]string{".ken/state": "$OUT/new"}, does: outside},
		{name: "an index that is a link", make: brings(func(w *world) { w.link(filepath.Join(w.repo, ".ken", "state", "default", "index"), "$OUT") }), does: outside},
		{name: "vectors that are a link", make: brings(func(w *world) { w.link(filepath.Join(w.repo, ".ken", "state", "default", "vectors"), "$OUT") }), does: outside},
		{name: "events that are a link", make: brings(func(w *world) { w.link(filepath.Join(w.repo, ".ken", "state", "events"), "$OUT") }), does: outside},
		{name: "a state in a submodule", make: func(w *world) {
			w.submodule(".ken/state", theirs)
		}, does: shows},
		{name: "a folder .ken that is a submodule", make: func(w *world) {
			w.submodule(".ken", filepath.Dir(theirs))
		}, does: shows},
		{name: "a holder that listens in the state", do: [][]string{ask}, make: brings((*world).listen), does: never, springs: (*world).dialled},
		{name: "a plan that was done elsewhere", make: brings(), files: map[string]string{".ken/state/plan.json": "{}", ".ken/config.yaml": "agents: [{name: a, command: [touch, '$OUT/ran']}]"},
			do: [][]string{{"plan", "run", "--resume"}, ask}, does: shows},
	}
}

// submodule adds a repository with the files of a folder as a submodule.
func (w *world) submodule(at, files string) {
	w.Helper()
	repo := w.repo
	w.repo = filepath.Join(w.TempDir(), "module")
	if err := os.CopyFS(w.repo, os.DirFS(files)); err != nil {
		w.Fatal(err)
	}
	w.commit()
	module := w.repo
	w.repo = repo
	w.commit()
	w.git("submodule", "add", "-q", "-f", module, at)
	w.git("commit", "-qm", "submodule")
}

// listen puts a socket into the state, as a process would that holds it.
func (w *world) listen() {
	w.Helper()
	dir := filepath.Join(w.repo, ".ken", "state", "default")
	was, err := os.Getwd()
	if err = errors.Join(err, os.Chdir(dir)); err != nil { // a socket's path is short
		w.Fatal(err)
	}
	l, err := net.Listen("unix", "ken.sock")
	if err = errors.Join(err, os.Chdir(was)); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = l.Close() })
	w.put(filepath.Join(dir, "holder.json"), `{"pid": 1, "socket": "ken.sock"}`)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.theirs.mu.Lock()
			w.theirs.got = append(w.theirs.got, "a connection to the socket")
			w.theirs.mu.Unlock()
			_ = c.Close()
		}
	}()
}

// dialled connects to the socket of listen, and waits until it was noticed.
func (w *world) dialled() bool {
	dir, err := os.Getwd()
	if err = errors.Join(err, os.Chdir(filepath.Join(w.repo, ".ken", "state", "default"))); err != nil {
		return false
	}
	c, err := net.Dial("unix", "ken.sock")
	if err = errors.Join(err, os.Chdir(dir)); err != nil {
		return false
	}
	defer c.Close()
	_, _ = c.Read(make([]byte, 1)) // ends when the other side closes
	return strings.Contains(w.theirs.text(), "socket")
}
