package trust

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kenlayer/ken/internal/durable"
)

// markName is the name of the mark in a state folder.
const markName = "made-here.json"

// mark says that a state was made on this machine by this user, or that the user trusts it.
type mark struct {
	ID      string `json:"id"`
	Root    string `json:"root"`              // the real path of the project
	Path    string `json:"path"`              // path of the state when it was marked
	Adopted bool   `json:"adopted,omitempty"` // made elsewhere, and trusted by the user
	MAC     string `json:"mac"`
}

func (m *mark) parts(tracked string) []string {
	return []string{"ken state 1", m.ID, m.Root, m.Path, fmt.Sprint(m.Adopted), tracked}
}

// made holds the states that this process made or recognised as its own. Without a folder for the secret, they are known
// only while the process runs.
var made sync.Map

// State says where a project's state is stored.
type State struct {
	Dir     string // the folder to use; empty if there is none
	Foreign string // why the project's own state is not used; empty if it is used, and for a home folder without state
}

// FindState decides where the state of the project in root is stored. at is the folder in its configuration; chosen says
// that the user chose it, in which case a folder outside of the project is used as it is. FindState creates nothing; see
// Mark. The error is ErrUnavailable for a foreign state if there is no folder to use instead; Foreign is set then, too.
func FindState(root, at string, chosen bool) (State, error) {
	if chosen && !Inside(Real(root), Real(at)) {
		return State{Dir: at}, nil
	}
	why := foreign(root, at)
	if _, err := os.Lstat(at); why == "" && (err == nil || !IsHome(root)) {
		return State{Dir: at}, nil
	}
	own, err := Own(root)
	return State{Dir: own, Foreign: why}, err
}

// Own returns the state folder for the project in root among the user's own files. Errors: ErrUnavailable if there is no
// place for it.
func Own(root string) (string, error) {
	dir, err := folder(root)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", noFolder(err)
	}
	return filepath.Join(dir, "projects", key(root), "state"), nil
}

// foreign returns why the state at a path is not known to be made here by this user; "" if it is, or if it contains nothing
// to trust.
func foreign(root, at string) string {
	root = Real(root)
	real := Real(at)
	within := Inside(root, real)
	info, err := os.Stat(at)
	switch {
	case within && (err != nil || !info.IsDir()): // there is nothing to trust, and opening it will report the error
		return ""
	case err != nil:
		return leadsOut(real)
	}
	under := tracked(root, real)
	if _, ok := made.Load(madeKey(root, real, under)); ok {
		return ""
	}
	if within && under == "" && isEmpty(at) {
		return ""
	}
	dir, err := folder(root)
	if err != nil {
		return "without a folder of this user, Ken can't know whether it made the state"
	}
	key, keyErr := secret(dir, false)
	was := "" // path at which a state with a valid mark was made
	for _, path := range marks(dir, at) {
		m, err := readJSON[mark](path)
		if err != nil || keyErr != nil || !sealed(key, m.MAC, m.parts(under)...) {
			continue
		}
		if m.Path == real && m.Root == root {
			return ""
		}
		was = m.Path
	}
	switch {
	case keyErr != nil && !errors.Is(keyErr, fs.ErrNotExist):
		return keyErr.Error()
	case !within:
		return leadsOut(real)
	case was != "":
		return "it was made for " + was
	case under == unknown:
		if _, err := exec.LookPath("git"); err != nil {
			return "git, which would say whether files of it came with the repository, is not in PATH"
		}
		return "git can't say whether files of it came with the repository"
	case under != "":
		return "files of it came with the repository"
	}
	return "it was not made here by this user"
}

func leadsOut(real string) string { return "it leads out of the project, to " + real }

func madeKey(root, real, tracked string) string { return root + "\x00" + real + "\x00" + tracked }

// harmless are files that Ken creates in a state folder before there is a state. Their content is not trusted.
var harmless = []string{".gitignore", ".objectives.lock", ".decisions.lock"}

// isEmpty reports whether a folder contains nothing to trust. Another process may be writing the mark.
func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !e.Type().IsRegular() || !slices.Contains(harmless, e.Name()) && !strings.HasPrefix(e.Name(), "."+markName+".")
	})
}

// marks returns the possible paths of a state's mark: in the state folder or, if that is read-only, among the user's own
// files.
func marks(own, state string) []string {
	return []string{filepath.Join(state, markName), filepath.Join(own, "marks", key(state)+".json")}
}

// Mark creates the state folder dir of the project in root, if necessary, and marks it as made here. Folders outside of the
// project need no mark. Call it before writing to a folder that FindState returned. Without a folder for this user's secret
// the error is ErrUnavailable, and only this process knows the state.
func Mark(root, dir string) error { return markAs(root, dir, false) }

// Adopt marks a state that was made elsewhere as trusted by the user.
func Adopt(root, dir string) error { return markAs(root, dir, true) }

func markAs(root, dir string, adopted bool) error {
	if err := makeFolder(root, dir); err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	real := Real(dir)
	if !adopted && (!Inside(Real(root), real) || foreign(root, dir) != "" || !isEmpty(dir)) {
		return nil // outside of the project, foreign, or not empty: nothing to mark
	}
	under := tracked(Real(root), real)
	made.Store(madeKey(Real(root), real, under), true)
	own, err := folder(root)
	if err != nil {
		return err
	}
	secret, err := secret(own, true)
	if err != nil {
		return err
	}
	m := mark{ID: rand.Text(), Root: Real(root), Path: real, Adopted: adopted}
	m.MAC = seal(secret, m.parts(under)...)
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	places := marks(own, dir)
	if err = durable.WriteFile(places[0], append(b, '\n'), 0o600); err == nil {
		return nil
	}
	if other := os.MkdirAll(filepath.Dir(places[1]), 0o700); other == nil && durable.WriteFile(places[1], append(b, '\n'), 0o600) == nil {
		return nil // a read-only state is recognised by this mark
	}
	return fmt.Errorf("mark the state folder: %w", err)
}

// makeFolder creates a state folder. Its parents in the project get the usual permissions of folders.
func makeFolder(root, dir string) error {
	if dir = Real(dir); Inside(Real(root), dir) {
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return err
		}
	}
	return os.MkdirAll(dir, 0o700) // also for the target of a link
}

// Disown removes the mark of Adopt, and reports whether there was one.
func Disown(root, dir string) (bool, error) {
	own, err := folder(root)
	if err != nil {
		return false, err
	}
	gone := false
	for _, path := range marks(own, dir) {
		if m, err := readJSON[mark](path); err != nil || !m.Adopted {
			continue
		}
		made.Clear()
		if err := os.Remove(path); err != nil {
			return gone, err
		}
		gone = true
	}
	return gone, nil
}
