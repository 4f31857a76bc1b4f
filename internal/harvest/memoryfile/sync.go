package memoryfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/durable"
)

// Store is the store that Sync changes.
type Store interface {
	ken.Store
	Get(ctx context.Context, id string) (ken.Claim, error)
}

// Options configures Sync.
type Options struct {
	Path  string           // path of MEMORY.md; its folder is created if necessary
	By    string           // the person who is recorded as the author of edits
	Now   func() time.Time // default time.Now
	Write bool             // write the file after reading it
	// Own reports whether By wrote a line of the file, which is given without its line
	// end. Other lines may have been committed by somebody else: new ones become
	// candidates, and changes of known ones are ignored. Nil means that By wrote every
	// line.
	Own func(line string) bool
}

// Report counts the changes that Sync made.
type Report struct {
	Approved int  `json:"approved"`
	Rejected int  `json:"rejected"`
	Demoted  int  `json:"demoted"` // made candidates again
	Edited   int  `json:"edited"`
	Added    int  `json:"added"`
	Proposed int  `json:"proposed"` // added as candidates, from lines that By did not write
	Written  bool `json:"written"`  // the file was written because its content differed
}

// Sync applies changes that people made in the file to the store and then, if
// Options.Write is set, writes the file again. If the file can't be parsed, nothing is
// applied and the file is not changed; the error names the line. Running it twice changes
// nothing.
func Sync(ctx context.Context, s Store, o Options) (Report, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	var r Report
	have, err := Read(o.Path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return r, fmt.Errorf("read %s: %w", Name, err)
	}
	if len(have) > 0 {
		f, err := Parse(have)
		if err != nil {
			return r, err
		}
		if f.Edited {
			rows := strings.Split(string(have), "\n")
			for _, l := range f.Lines {
				if o.Own != nil && !o.Own(strings.TrimRight(rows[l.Number-1], " \t\r")) {
					if err := propose(ctx, s, &l, &o, &r); err != nil {
						return r, fmt.Errorf("%s:%d: %w", Name, l.Number, err)
					}
					continue
				}
				if err := apply(ctx, s, &l, &o, &r); err != nil {
					return r, fmt.Errorf("%s:%d: %w", Name, l.Number, err)
				}
			}
		}
	}
	if !o.Write {
		return r, nil
	}
	claims, err := List(ctx, s)
	if err != nil {
		return r, err
	}
	if out := Render(claims); string(out) != string(have) {
		r.Written = true
		return r, replace(o.Path, out)
	}
	return r, nil
}

// queryLimit is the query limit, more claims than anybody would have in every turn.
const queryLimit = 10_000

// List returns the claims of the file: hot ones, and patterns, approved or not.
func List(ctx context.Context, s ken.Store) ([]ken.Claim, error) {
	return s.Query(ctx, ken.Query{Limit: queryLimit, Filter: ken.Filter{Kinds: []ken.Kind{ken.KindHot, ken.KindPattern},
		Statuses: append(ken.RecallStatuses(), ken.StatusHypothesis)}})
}

func apply(ctx context.Context, s Store, l *Line, o *Options, r *Report) error {
	if l.ID == "" {
		return add(ctx, s, l, o, r)
	}
	c, err := s.Get(ctx, l.ID)
	if errors.Is(err, ken.ErrNotFound) {
		return adopt(ctx, s, l, o, r)
	}
	if err != nil {
		return err
	}
	if l.Mark != Rejected && flat(c.Text) != l.Text && c.Status != ken.StatusSuperseded {
		r.Edited++
		_, err := Edit(ctx, s, &c, l.Text, l.Mark == Approved, o.By, o.Now())
		return err
	}
	switch {
	case l.Mark == Approved && c.Status == ken.StatusHypothesis:
		r.Approved++
		return Approve(ctx, s, c.ID, o.By, o.Now())
	case l.Mark == Rejected && c.Status != ken.StatusDisputed && c.Status != ken.StatusSuperseded:
		r.Rejected++
		return Reject(ctx, s, c.ID, o.By, o.Now())
	case l.Mark == Candidate && (c.Status == ken.StatusObserved || c.Status == ken.StatusVerified):
		r.Demoted++
		return s.Transition(ctx, ken.Transition{ID: c.ID, To: ken.StatusHypothesis, Reason: ken.ReasonLapsed, Actor: person(o.By)})
	}
	return nil
}

// adopt adds a line whose id was never in this store, since the file came from another
// store. A claim that was forgotten here is not added.
func adopt(ctx context.Context, s Store, l *Line, o *Options, r *Report) error {
	if _, err := s.History(ctx, l.ID); !errors.Is(err, ken.ErrNotFound) {
		return err
	}
	return add(ctx, s, l, o, r)
}

// add adds a line that a person wrote, as a hot claim unless the line has another kind.
// The key is derived from the text, so that the same line is the same claim.
func add(ctx context.Context, s Store, l *Line, o *Options, r *Report) error {
	if l.Mark == Rejected {
		return nil
	}
	c := ken.Claim{ID: l.ID, Kind: cmp.Or(l.Kind, ken.KindHot), Key: Key(l.Text), Text: l.Text, Status: ken.StatusObserved,
		Confidence: 1, Importance: 0.8, Actor: person(o.By), Source: Name, SourceType: "memory_file",
		Evidence: []ken.Evidence{ken.FromHumanAssertion(o.By, o.Now().UTC(), "written into "+Name)}}
	if l.Mark == Candidate {
		c.Status = ken.StatusHypothesis
	}
	if _, err := s.WriteClaim(ctx, c); err != nil {
		return err
	}
	r.Added++
	return nil
}

// propose adds a line that somebody else wrote as a candidate, unless a claim of any
// status has the same text. Marks of existing claims are ignored. Otherwise a commit
// could approve, change and reject what is in every turn.
func propose(ctx context.Context, s Store, l *Line, o *Options, r *Report) error {
	if l.Mark == Rejected {
		return nil
	}
	known, err := s.Query(ctx, ken.Query{Limit: queryLimit, Filter: ken.Filter{Kinds: []ken.Kind{ken.KindHot, ken.KindPattern}, Statuses: ken.Statuses()}})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(known, func(c ken.Claim) bool { return flat(c.Text) == l.Text }) {
		return nil
	}
	file := ken.FromFile(Name, "", "")
	file.Line, file.Trust, file.FetchedAt = l.Number, ken.TrustAgent, o.Now().UTC()
	if _, err := s.WriteClaim(ctx, ken.Claim{Kind: cmp.Or(l.Kind, ken.KindHot), Key: "proposed:" + Key(l.Text), Text: l.Text, Status: ken.StatusHypothesis,
		Confidence: 0.5, Importance: 0.5, Actor: ken.Actor{Type: "system", ID: "repository"}, Source: Name, SourceType: "memory_file",
		Evidence: []ken.Evidence{file}}); err != nil {
		return err
	}
	r.Proposed++
	return nil
}

// Key returns the key of a claim that a person put into every turn. It depends only on
// the text: the same words are the same claim.
func Key(text string) string { return "memory:" + sum([]byte(flat(text)))[:32] }

// replace writes the file atomically.
func replace(path string, b []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write %s: %w", Name, err)
	}
	if err := durable.WriteFile(path, b, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", Name, err)
	}
	return nil
}
