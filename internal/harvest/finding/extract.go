package finding

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/harvest/finding/patch"
	"github.com/kenlayer/ken/internal/run/session"
)

// Bounds of what one session finds.
const (
	MaxFindings = 50
	maxSearches = 10 // the most telling ones
	maxListed   = 12 // entries of a folder that is worth a finding
	maxMatching = 40 // files that match a pattern which still says where something is
)

// Extract returns what the calls of a session found out and changed, the most
// useful first: changes, pitfalls, decisions, requirements, owners, then
// observations of files that were read more than once or changed, then the rest.
// There is at most one of an entity and kind, the last, and MaxFindings in all.
//
// A call that failed finds nothing out, but what a command keeps failing with is a
// pitfall. A file that was read and then changed is no observation any more,
// unless it was read again; its change says what it is now.
func Extract(tr *session.Transcript, t Tools) []Finding {
	x := &extractor{runs: newRuns(), seen: map[string]*seenFile{}, edits: map[string]*edited{}, last: map[string]int{}, left: map[string]left{}}
	calls := Calls(tr, t)
	for i := range calls {
		x.call(&calls[i])
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

// Weights of what is found, most useful first; see Extract.
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

// extractor goes through a session once.
type extractor struct {
	runs  *runs
	found []Finding
	last  map[string]int // place of a kind's and entity's finding
	seen  map[string]*seenFile
	order []string
	edits map[string]*edited
	left  map[string]left
}

// left is how the session left a file, as far as its calls show.
type left struct {
	hash    string // "" when it is gone
	noted   bool   // hash is known
	changed uint64 // by which result; 0 for none
}

// seenFile is what was read of a file since it last changed.
type seenFile struct {
	reads    int // since the session began
	text     string
	names    []string // what later pieces of it define
	call     *Call
	hash     string
	outdated bool // changed since, and not read again
}

// add takes in a finding in place of an earlier one of its kind and entity.
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

// drop takes a finding out that no longer holds.
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

// of is a finding of a call.
func of(c *Call, k Kind, entity, text string, weight int) Finding {
	return Finding{Entity: entity, Kind: k, Text: clip(oneLine(text), MaxText), Tool: c.Name, CallID: c.ID, Seq: c.Seq, At: c.At, weight: weight}
}

// onFile is a finding of a call that rests on a file of the project.
func onFile(c *Call, k Kind, entity, text, file string, weight int) Finding {
	f := of(c, k, entity, text, weight)
	if !absolute(file) {
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

// ignored are files that no finding is about: not of the project, secret, or made
// by a tool.
func ignored(c *Call, name string) bool {
	base := path.Base(name)
	return c.project.outside(name) || sensitive(name) || base == "go.sum" || strings.HasSuffix(base, ".lock") || strings.HasSuffix(base, "-lock.json") ||
		base == "pnpm-lock.yaml" || strings.Contains("/"+name, "/node_modules/") || strings.Contains("/"+name, "/vendor/") || strings.Contains("/"+name, "/.venv/")
}
