package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// Report is what became of a plan.
type Report struct {
	Done    []Change  // carried out, now or by somebody else meanwhile
	Skipped []Change  // what they were about has changed since the plan, or there was nothing to do
	Failed  []Failure // everything else went on
}

// Failure is a change that could not be made.
type Failure struct {
	Change Change
	Err    error
}

// Apply makes the changes of a plan, each by itself, and tells progress, which may
// be nil, after each. What fails is in the report, and joined in the error; the
// rest goes on. What has changed since the plan was made is left alone: the next
// plan looks at it again. Applying a plan twice changes nothing more. When ctx ends
// it stops; Apply then returns what was done until then, and ctx's error.
func Apply(ctx context.Context, d Deps, changes []Change, progress func(done, total int)) (Report, error) {
	a := applier{d: d.withDefaults()}
	var errs []error
	for i := range changes {
		if err := ctx.Err(); err != nil {
			return a.r, errors.Join(append(errs, err)...)
		}
		c := &changes[i]
		did, err := a.apply(ctx, c)
		switch {
		case err != nil:
			a.r.Failed = append(a.r.Failed, Failure{*c, err})
			errs = append(errs, fmt.Errorf("%s %s: %w", c.Rule, c.ID, err))
		case did:
			a.r.Done = append(a.r.Done, *c)
		default:
			a.r.Skipped = append(a.r.Skipped, *c)
		}
		if progress != nil {
			progress(i+1, len(changes))
		}
	}
	return a.r, errors.Join(errs...)
}

type applier struct {
	d Deps
	r Report

	// Journals are swept, and sessions pruned, all at once: the first change of the
	// sort does it, and the others share its outcome.
	swept, pruned *outcome
	graph         *outcome        // likewise, of the graph
	linked        map[string]bool // by path: decisions in whose files we changed links
}

type outcome struct{ err error }

func (a *applier) apply(ctx context.Context, c *Change) (did bool, err error) {
	if c.Computed {
		return false, nil
	}
	switch c.Rule {
	case ArchiveSuperseded, ArchiveExpired:
		return a.archive(ctx, c)
	case DemotePatterns:
		return a.demote(ctx, c)
	case ArchiveDecisions:
		return a.archiveRecord(ctx, c)
	case PruneOrphans:
		if c.Kind == kindGraph || c.Kind == kindNodes {
			return a.prune(ctx)
		}
		if a.d.Documents == nil {
			return false, nil
		}
		n, err := a.d.Documents.PruneOrphans(ctx, []string{c.ID})
		return n > 0, err
	case DeleteEphemeral:
		return a.remove(ctx, c)
	}
	return false, &ken.Error{Code: ken.CodeInvalid, Field: "rule", Msg: "unknown rule " + string(c.Rule), Try: "Make the plan anew."}
}

func (a *applier) archive(ctx context.Context, c *Change) (bool, error) {
	now, err := a.d.Store.Get(ctx, c.ID)
	switch {
	case errors.Is(err, ken.ErrNotFound): // forgotten
		return false, nil
	case err != nil:
		return false, err
	case !now.ArchivedAt.IsZero():
		return true, nil
	case c.moved(&now):
		return false, nil
	}
	return true, a.d.Store.Archive(ctx, c.ID, c.Why, a.d.Actor)
}

func (a *applier) demote(ctx context.Context, c *Change) (bool, error) {
	now, err := a.d.Store.Get(ctx, c.ID)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case now.Status == ken.StatusHypothesis:
		return true, nil
	case c.moved(&now):
		return false, nil
	}
	// The reason is the one word that opens this transition.
	return true, a.d.Store.Transition(ctx, ken.Transition{ID: c.ID, To: ken.StatusHypothesis, Reason: ken.ReasonLapsed, Actor: a.d.Actor})
}

// moved reports a claim that is another than the plan saw: it was seen again,
// revised or settled otherwise.
func (c *Change) moved(now *ken.Claim) bool { return !now.UpdatedAt.Equal(c.seen) }

func (a *applier) remove(ctx context.Context, c *Change) (bool, error) {
	switch c.Kind {
	case kindJournal:
		if a.swept == nil && a.d.Journal != nil {
			_, err := a.d.Journal.Sweep(ctx, c.grace)
			a.swept = &outcome{err}
		}
		return a.swept.told()
	case kindSession:
		if a.pruned == nil && a.d.Journal != nil {
			_, err := a.d.Journal.Prune(ctx, c.before)
			a.pruned = &outcome{err}
		}
		return a.pruned.told()
	case kindJob:
		if a.d.Queue == nil {
			return false, nil
		}
		err := a.d.Queue.Remove(ctx, c.ID)
		if errors.Is(err, ken.ErrNotFound) {
			return true, nil
		}
		return err == nil, err
	case kindState:
		return a.erase(c)
	case kindEvents:
		info, err := os.Lstat(c.ID)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return true, nil
		case err != nil:
			return false, err
		case !info.Mode().IsRegular() || info.ModTime().After(c.before):
			return false, nil
		}
		return true, os.Remove(c.ID)
	}
	return false, &ken.Error{Code: ken.CodeInvalid, Field: "kind", Msg: "unknown kind " + c.Kind, Try: "Make the plan anew."}
}

func (o *outcome) told() (bool, error) {
	if o == nil {
		return false, nil
	}
	return o.err == nil, o.err
}

// Archived returns archived claims that bear on a question, best first, at most
// limit of them, 10 if it is less than 1; an empty question means the newest. f
// narrows them; its Statuses and Kinds, when nil, are all, and its Now is not used, since
// whatever expired is what is looked for.
func Archived(ctx context.Context, s interface {
	Query(ctx context.Context, q ken.Query) ([]ken.Claim, error)
}, question string, f ken.Filter, limit int) ([]ken.Claim, error) {
	const usual, most = 10, 100_000
	if limit < 1 {
		limit = usual
	}
	if f.Statuses == nil {
		f.Statuses = ken.Statuses()
	}
	f.ClaimsOnly, f.Structural, f.Now = true, true, time.Unix(0, 0) // before anything expired
	// What is not archived takes room in the answer, so ask for more until there is
	// enough or no more.
	for ask := 4 * limit; ; ask *= 4 {
		found, err := s.Query(ctx, ken.Query{Question: question, Filter: f, Limit: ask})
		if err != nil {
			return nil, err
		}
		var out []ken.Claim
		for i := range found {
			if !found[i].ArchivedAt.IsZero() && len(out) < limit {
				out = append(out, found[i])
			}
		}
		if len(out) == limit || len(found) < ask || ask > most {
			return out, nil
		}
	}
}

// Write puts a file with every key, its meaning and its default at path, in a
// folder that is created if need be. It never writes over a file: ErrExists then,
// whatever is in it.
func Write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("create the folder of the lifecycle policy: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		return &ken.Error{Code: ken.CodeExists, Msg: path + " is there already", Try: "Edit it, or move it away first."}
	case err != nil:
		return fmt.Errorf("write lifecycle policy: %w", err)
	}
	_, err = f.WriteString(Example())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write lifecycle policy: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}

// Example is the file that Write writes.
func Example() string {
	var b strings.Builder
	b.WriteString(`# How long Ken keeps things. "ken knowledge gc" shows what would change and why,
# "ken knowledge gc --apply" changes it. Each number is in days; -1 is never.
`)
	for _, k := range keys {
		b.WriteString("\n")
		for _, l := range wrap(k.doc, 88) {
			b.WriteString("# " + l + "\n")
		}
		fmt.Fprintf(&b, "%s: %d\n", k.name, k.fallback)
	}
	return b.String()
}

// wrap breaks a text into lines of at most width characters.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}
