package pattern

import (
	"cmp"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/run/session"
)

// MaxPatterns is the maximum number of candidates of one session. Each source
// has a share of it, which goes to the most frequent patterns.
const MaxPatterns = 20

// Shares of the sources.
const (
	maxFailures = 5
	maxCommands = 6
	maxTests    = 5
	maxFiles    = 4
)

// Extract returns the candidates of one session, at most MaxPatterns: commands
// that kept failing first, then those that succeeded, tests, files. The same
// transcript gives the same claims in the same order.
func Extract(tr *session.Transcript, t finding.Tools) []ken.Claim {
	calls := finding.Calls(tr, t)
	w := newWork()
	for i := range calls {
		w.see(&calls[i])
	}
	var out []ken.Claim
	for _, part := range []struct {
		list []found
		most int
	}{{w.failures(), maxFailures}, {w.successes(), maxCommands}, {w.passed(), maxTests}, {w.rewritten(), maxFiles}} {
		slices.SortStableFunc(part.list, func(a, b found) int { return cmp.Compare(b.rank, a.rank) })
		for _, f := range part.list[:min(len(part.list), part.most)] {
			out = append(out, f.claim(tr.Info))
		}
	}
	return out
}

// work records a session by command, test and file.
type work struct {
	commands index[command]
	tests    index[test]
	files    index[file]
	changes  int // number of calls so far that changed files
}

func newWork() *work { return &work{} }

// index holds values by name in the order of their first appearance.
type index[T any] struct {
	names []string
	by    map[string]*T
}

func (x *index[T]) get(name string) *T {
	if v, ok := x.by[name]; ok {
		return v
	}
	if x.by == nil {
		x.by = map[string]*T{}
	}
	v := new(T)
	x.by[name] = v
	x.names = append(x.names, name)
	return v
}

func (w *work) see(c *finding.Call) {
	if changed := c.Changed(); len(changed) > 0 {
		w.changes++
		for _, name := range changed {
			w.files.get(name).see(c)
		}
	}
	if c.Role == finding.Run {
		w.run(c)
	}
}
