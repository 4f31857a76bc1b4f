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

// Report is the result of applying a plan.
type Report struct {
	Done    []Change  // carried out, now or by somebody else meanwhile
	Skipped []Change  // the object was changed since the plan, or nothing had to be done
	Failed  []Failure // changes that failed; all others were tried
}

// Failure is a change that failed.
type Failure struct {
	Change Change
	Err    error
}

// Apply makes the changes of a plan, each independently, and calls progress after each;
// progress may be nil. Failures are in the report and joined in the error; the other
// changes are still made. An object that was changed since the plan is left alone until
// the next plan. Applying a plan twice changes nothing more. When ctx ends, Apply stops
// and returns what was done, and ctx's error.
func Apply(ctx context.Context, d Deps, changes []Change, progress func(done, total int)) (Report, error) {
	a := applier{d: d.withDefaults(), outcomes: map[string]error{}, linked: map[string]bool{}}
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
	// All journals are swept, all sessions pruned and all of the graph pruned in one step.
	// The first such change does it, and the others share its outcome, by the change's kind.
	outcomes map[string]error
	linked   map[string]bool // by path: decisions in whose files Apply changed links
}

// once calls do for the first change of a kind, and returns its outcome for all of them.
func (a *applier) once(kind string, do func() error) (bool, error) {
	err, done := a.outcomes[kind]
	if !done {
		err = do()
		a.outcomes[kind] = err
	}
	return err == nil, err
}

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
	return a.claim(ctx, c, func(now *ken.Claim) bool { return !now.ArchivedAt.IsZero() }, func() error {
		return a.d.Store.Archive(ctx, c.ID, c.Why, a.d.Actor)
	})
}

func (a *applier) demote(ctx context.Context, c *Change) (bool, error) {
	return a.claim(ctx, c, func(now *ken.Claim) bool { return now.Status == ken.StatusHypothesis }, func() error {
		// This reason is the only one with which the transition is allowed.
		return a.d.Store.Transition(ctx, ken.Transition{ID: c.ID, To: ken.StatusHypothesis, Reason: ken.ReasonLapsed, Actor: a.d.Actor})
	})
}

// claim changes a claim, unless that is done already or the claim was forgotten, seen again,
// revised or decided otherwise since the plan.
func (a *applier) claim(ctx context.Context, c *Change, done func(*ken.Claim) bool, do func() error) (bool, error) {
	now, err := a.d.Store.Get(ctx, c.ID)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case done(&now):
		return true, nil
	case !now.UpdatedAt.Equal(c.seen):
		return false, nil
	}
	return true, do()
}

func (a *applier) remove(ctx context.Context, c *Change) (bool, error) {
	switch c.Kind {
	case kindJournal, kindSession:
		if a.d.Journal == nil {
			return false, nil
		}
		return a.once(c.Kind, func() (err error) {
			if c.Kind == kindJournal {
				_, err = a.d.Journal.Sweep(ctx, c.grace)
			} else {
				_, err = a.d.Journal.Prune(ctx, c.before)
			}
			return err
		})
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

// Archived returns archived claims that are relevant for a question, best first. At most
// limit are returned, 10 if limit is less than 1. An empty question returns the newest. f
// filters them: nil Statuses and Kinds mean all, and Now is ignored, because expired
// claims are included.
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
	f.ClaimsOnly, f.Structural, f.Now = true, true, time.Unix(0, 0) // a time before any expiry
	// Claims that are not archived are among the results, so increase the limit until
	// there are enough.
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

// Write creates a file with every key, its meaning and its default at path. The folder is
// created if necessary. An existing file is never overwritten: Write returns ErrExists,
// whatever the file contains.
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

// Example returns the content of the file that Write creates.
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
	for w := range strings.FieldsSeq(text) {
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
