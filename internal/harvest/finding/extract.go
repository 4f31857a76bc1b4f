package finding

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding/patch"
	"github.com/kenlayer/ken/internal/run/session"
)

// Bounds of the findings of one session.
const (
	MaxFindings = 50
	maxSearches = 10 // the ones with the fewest matches
	maxListed   = 12 // entries of a folder that gets a finding
	maxMatching = 40 // files that match a pattern; with more, the finding does not say where something is
)

// Extract returns what the calls of a session found out and changed, the most
// useful first: changes, pitfalls, decisions, requirements, owners, then
// observations of files that were read more than once or changed, then the rest.
// Of each entity and kind only the last finding is returned, and at most
// MaxFindings in all.
//
// A failed call finds nothing out, but a command that keeps failing is a pitfall.
// The observation of a file is dropped when the file is changed, unless the file
// is read again; the finding of the change says what it is now.
func Extract(tr *session.Transcript, t Tools) []Finding {
	x := &extractor{runs: newRuns(), seen: map[string]*seenFile{}, edits: map[string]*edited{}, last: map[string]int{}, left: map[string]left{}}
	calls := Calls(tr, t)
	for i := range calls {
		x.call(&calls[i])
	}
	for i := range tr.Entries {
		m := &tr.Entries[i].Message
		if m.Role == "user" || slices.ContainsFunc(m.ToolCalls, func(c ken.ToolCall) bool { _, known := t.Lookup(c.Name); return !known }) {
			x.runs.unseen = append(x.runs.unseen, tr.Entries[i].Seq)
		}
	}
	x.observations()
	x.settle()
	for _, f := range append(x.runs.pitfalls(), failedEdits(calls)...) {
		x.add(f)
	}
	slices.SortStableFunc(x.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.Seq, a.Seq), cmp.Compare(a.Entity, b.Entity))
	})
	searches := 0
	out := slices.DeleteFunc(x.found, func(f Finding) bool {
		if f.weight == weightSearch {
			searches++
			return searches > maxSearches
		}
		return false
	})
	return out[:min(len(out), MaxFindings)]
}

// Weights of findings. A more useful finding has a greater weight; see Extract.
const (
	weightChange    = 600
	weightDecision  = 400
	weightRequire   = 350
	weightOwner     = 320
	weightFocus     = 300 // an observation of a file that was read twice, or changed
	weightRead      = 200
	weightSearch    = 150
	weightFetch     = 100
	weightList      = 50
	heaviestRepeats = 9
)

// extractor holds the state while the calls of a session are processed in order.
type extractor struct {
	runs  *runs
	found []Finding
	last  map[string]int // index in found by kind and entity
	seen  map[string]*seenFile
	order []string
	edits map[string]*edited
	left  map[string]left
}

// left is the state in which the session left a file, as far as its calls show.
type left struct {
	hash    string // "" if the file was deleted
	noted   bool   // hash is known
	changed uint64 // sequence number of the result that changed it; 0 for none
}

// seenFile is what was read of a file since it last changed.
type seenFile struct {
	reads    int // since the start of the session
	text     string
	names    []string // names that other pieces of the file define
	call     *Call
	hash     string
	outdated bool // changed since it was read
}

// add adds a finding. It replaces an earlier one of its kind and entity.
func (x *extractor) add(f Finding) {
	key := string(f.Kind) + " " + f.Entity
	if i, ok := x.last[key]; ok {
		f.weight = max(f.weight, x.found[i].weight)
		x.found[i] = f
		return
	}
	x.last[key] = len(x.found)
	x.found = append(x.found, f)
}

// drop removes a finding that no longer holds.
func (x *extractor) drop(k Kind, entity string) {
	key := string(k) + " " + entity
	i, ok := x.last[key]
	if !ok {
		return
	}
	x.found = slices.Delete(x.found, i, i+1)
	delete(x.last, key)
	for k, j := range x.last {
		if j > i {
			x.last[k] = j - 1
		}
	}
}

// of returns a finding from a call.
func of(c *Call, k Kind, entity, text string, weight int) Finding {
	return Finding{Entity: entity, Kind: k, Text: clip(oneLine(text), MaxText), Tool: c.Name, CallID: c.ID, Seq: c.Seq, At: c.At, weight: weight}
}

// onFile returns a finding from a call whose evidence is a file of the project.
func onFile(c *Call, k Kind, entity, text, file string, weight int) Finding {
	f := of(c, k, entity, text, weight)
	if !isAbsolute(file) {
		f.Path, f.Hash = file, c.Files[file]
	}
	return f
}

func (x *extractor) call(c *Call) {
	x.runs.see(c)
	for name, hash := range c.Files {
		l := x.left[name]
		l.hash, l.noted = hash, true
		x.left[name] = l
	}
	if c.Failed {
		return
	}
	switch c.Role {
	case Read:
		x.read(c)
	case Search:
		x.search(c)
	case List:
		x.list(c)
	case Fetch:
		x.fetch(c)
	case Write:
		for _, ch := range c.changes {
			x.change(c, ch)
		}
	case Delete:
		for _, name := range c.Paths {
			x.change(c, change{path: name, op: patch.Delete})
		}
	case Move:
		if len(c.Paths) == 2 {
			x.change(c, change{path: c.Paths[0], to: c.Paths[1], op: patch.Update})
		}
	}
}

// ignored reports whether no finding is made about a file: it is outside the
// project, holds secrets, or is generated.
func ignored(c *Call, name string) bool {
	base := path.Base(name)
	return c.project.outside(name) || isSensitive(name) || base == "go.sum" || strings.HasSuffix(base, ".lock") || strings.HasSuffix(base, "-lock.json") ||
		base == "pnpm-lock.yaml" || strings.Contains("/"+name, "/node_modules/") || strings.Contains("/"+name, "/vendor/") || strings.Contains("/"+name, "/.venv/")
}

// maxFileBytes is the maximum size of a file that is hashed during a turn: 4 MiB
// take about three milliseconds. The repository's index skips files larger than a
// quarter of that.
const maxFileBytes = 4 << 20

// maxMatches is the maximum number of files in a search's result that are hashed.
const maxMatches = 8

// Observe returns a function for session.Options.Annotate. It records with a
// tool's result the hashes of the files that the call was about, as they are at
// that time, by path relative to root. Hashes have the form of package repository,
// so that a claim with a file as evidence loses it when the index finds the file
// changed.
//
// A missing file has the hash "". Left out are files outside of root, symbolic
// links to them, files that usually hold secrets, files larger than 4 MiB, and
// unreadable files. The function is safe for concurrent use. If root is empty or
// can't be opened, it records nothing.
func Observe(root string, t Tools) func(ctx context.Context, e *session.Entry, call *ken.ToolCall) {
	if root == "" {
		return func(context.Context, *session.Entry, *ken.ToolCall) {}
	}
	if abs, err := filepath.Abs(root); err == nil {
		root = abs
	}
	roots := []string{filepath.ToSlash(root)}
	if resolved, err := filepath.EvalSymlinks(root); err == nil && resolved != root {
		roots = append(roots, filepath.ToSlash(resolved))
	}
	return func(ctx context.Context, e *session.Entry, call *ken.ToolCall) {
		if call == nil || e.Message.Role != "tool" && e.Message.Role != "function" {
			return
		}
		tool, ok := t.Lookup(call.Name)
		if !ok {
			return
		}
		s := subjectOf(tool, call.Arguments)
		names := s.paths
		if s.role == Search {
			names, _ = matches(e.Message.Text, maxMatches)
		}
		if len(names) == 0 || s.role == List {
			return
		}
		dir, err := os.OpenRoot(root)
		if err != nil {
			return
		}
		defer dir.Close() // nothing was written
		for _, name := range names {
			rel, ok := below(name, roots)
			if !ok || ctx.Err() != nil || isSensitive(rel) {
				continue
			}
			hash, ok := hashFile(dir, rel)
			if !ok || hash == "" && s.role == Search {
				continue
			}
			if e.Files == nil {
				e.Files = map[string]string{}
			}
			e.Files[rel] = hash
		}
	}
}

// below returns a path relative to the first of roots that contains it, and
// reports whether it is within a root.
func below(name string, roots []string) (string, bool) {
	name = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	for _, r := range roots {
		if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(r, "/")+"/"); ok {
			name = rest
			break
		}
	}
	return name, !isAbsolute(name) && filepath.IsLocal(filepath.FromSlash(name)) && name != "."
}

// hashFile hashes a file of the folder. ok is false for other things than regular
// files, large files and unreadable ones. A missing file has the hash "".
func hashFile(dir *os.Root, rel string) (hash string, ok bool) {
	name := filepath.FromSlash(rel)
	info, err := dir.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		_, err := dir.Lstat(name) // a dangling link exists
		return "", errors.Is(err, fs.ErrNotExist)
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFileBytes {
		return "", false
	}
	f, err := dir.Open(name)
	if err != nil {
		return "", false
	}
	defer f.Close() // nothing was written
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxFileBytes+1))
	if err != nil || n > maxFileBytes {
		return "", false
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), true
}
