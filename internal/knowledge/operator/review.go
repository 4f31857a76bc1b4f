package operator

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// Decision is what a review says of a claim.
type Decision string

// The decisions.
const (
	// Approve takes a hypothesis for true, and makes a rule of a candidate. What was
	// approved before stays as it is.
	Approve Decision = "approve"
	// Reject turns a claim down. It stays known, so that seeing it again does not make
	// it a candidate again. One that is disputed already stays as it is.
	Reject Decision = "reject"
	// Rewrite replaces a claim by one with another text, and approves that. The same
	// text only approves.
	Rewrite Decision = "rewrite"
)

// Verdict is a decision about a claim.
type Verdict struct {
	ID       string   `json:"id"`
	Decision Decision `json:"decision"`
	Text     string   `json:"text,omitempty"` // of a rewrite
}

// Outcome is what became of a verdict.
type Outcome struct {
	// ID is that of the claim that the decision left, a new one after a rewrite. With an
	// error it is the one that was asked about, "" where there is none.
	ID      string
	Changed bool // false: it was so already
	Err     error
}

// Approve is a Review of one claim.
func (d *Desk) Approve(ctx context.Context, id string) error {
	return d.reviewOne(ctx, Verdict{ID: id, Decision: Approve})
}

// Reject is a Review of one claim.
func (d *Desk) Reject(ctx context.Context, id string) error {
	return d.reviewOne(ctx, Verdict{ID: id, Decision: Reject})
}

func (d *Desk) reviewOne(ctx context.Context, v Verdict) error {
	out, err := d.Review(ctx, []Verdict{v})
	return cmp.Or(out[0].Err, err)
}

// Review carries verdicts out in their order, each succeeding or failing by itself,
// and returns the outcomes in order. If claims are among them that MEMORY.md lists, it
// is read before, because a person may have decided there, and written afterwards,
// once each. Where it can't be read, these claims are left alone. The error is that
// of writing it, when what was decided holds already.
func (d *Desk) Review(ctx context.Context, verdicts []Verdict) ([]Outcome, error) {
	out := make([]Outcome, len(verdicts))
	listed := make([]bool, len(verdicts))
	file := false
	for i, v := range verdicts {
		var c ken.Claim
		c, out[i].Err = Living(ctx, d.s, v.ID)
		out[i].ID, listed[i] = c.ID, InMemory(c.Kind)
		file = file || listed[i]
	}
	var unread error
	if file {
		unread = d.SyncMemory(ctx)
	}
	write := false
	for i, v := range verdicts {
		switch {
		case out[i].Err != nil:
		case listed[i] && unread != nil:
			out[i].Err = unread
		default:
			v.ID = out[i].ID
			out[i] = d.Decide(ctx, v)
			write = write || listed[i] && out[i].Changed
		}
	}
	if write {
		return out, d.SyncMemory(context.WithoutCancel(ctx))
	}
	return out, nil
}

// Decide carries a verdict out and leaves MEMORY.md alone, for a person who decides
// one by one: call SyncMemory before the first one and after the last.
func (d *Desk) Decide(ctx context.Context, v Verdict) Outcome {
	out := Outcome{ID: v.ID}
	out.Err = d.decide(ctx, v.ID, func(c *ken.Claim) (err error) {
		out.ID, out.Changed, err = d.carryOut(ctx, c, v)
		return err
	})
	return out
}

// carryOut returns the id of the claim that stands then, and whether it changed
// anything.
func (d *Desk) carryOut(ctx context.Context, c *ken.Claim, v Verdict) (id string, changed bool, err error) {
	switch v.Decision {
	case Rewrite:
		if c.Status == ken.StatusSuperseded || !sameText(v.Text, c.Text) {
			if id, err = d.correct(ctx, c, v.Text, "rewritten"); err != nil {
				return c.ID, false, err
			}
			if c.RuleCandidate {
				next, err := Living(ctx, d.s, id)
				if err == nil {
					_, err = d.Editor().ApproveRule(ctx, next)
				}
				return id, true, err
			}
			return id, true, nil
		}
		fallthrough
	case Approve:
		if c.RuleCandidate {
			d.audit(session.EventAssign, c, c.Status)
			_, err = d.Editor().ApproveRule(ctx, *c)
			break
		}
		if c.Status == ken.StatusObserved || c.Status == ken.StatusVerified {
			return c.ID, false, nil
		}
		d.audit(session.EventVerify, c, ken.StatusObserved)
		err = memoryfile.Approve(ctx, d.s, c.ID, d.o.Name, d.o.Now())
	case Reject:
		if c.Status == ken.StatusDisputed {
			return c.ID, false, nil
		}
		d.audit(session.EventDispute, c, ken.StatusDisputed)
		err = memoryfile.Reject(ctx, d.s, c.ID, d.o.Name, d.o.Now())
	default:
		err = &ken.Error{Code: ken.CodeInvalid, Field: "decision", Msg: "unknown decision " + strconv.Quote(string(v.Decision)),
			Try: "Use approve, reject or rewrite."}
	}
	return c.ID, err == nil, err
}

func sameText(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

// SyncMemory reads what people changed in MEMORY.md and brings it up to date, if it
// is this owner's. A file that can't be understood is ErrInvalid, and stays.
func (d *Desk) SyncMemory(ctx context.Context) error {
	if d.s.Owner() != d.l.Config().Knowledge.Owner {
		return nil
	}
	_, err := d.l.Operator().SyncMemory(ctx, d.o.Editor)
	return err
}

// Reviewed reports whether a claim can be approved or rejected in a review: what
// MEMORY.md lists, and candidate rules.
func Reviewed(c *ken.Claim) bool { return InMemory(c.Kind) || c.RuleCandidate }

// InMemory reports whether MEMORY.md lists claims of this kind.
func InMemory(kind ken.Kind) bool { return kind == ken.KindPattern || kind == ken.KindHot }

// Attention lists what a person should look at, warnings first, and with all also
// what was dismissed. unread is what could not be read and is missing from the list,
// ErrCorrupt; the rest of the list is good.
func (d *Desk) Attention(ctx context.Context, all bool) (items []attention.Item, unread, err error) {
	items, err = attention.List(ctx, d.s, d.s.Shelf(), attention.Options{Now: d.o.Now(), All: all})
	if errors.Is(err, ken.ErrCorrupt) {
		return items, err, nil
	}
	return items, nil, err
}

// Dismiss hides an item until something about it changes.
// The claims that it is about stay as they are. Dismissing one again changes nothing.
// ErrNotFound for an id that no item has.
func (d *Desk) Dismiss(ctx context.Context, id string) error {
	items, _, err := d.Attention(ctx, true)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(items, func(i attention.Item) bool { return i.ID == id }) {
		return &ken.Error{Code: ken.CodeNotFound, Field: "item", Msg: "no such item",
			Try: "List what needs attention; an item whose claims have changed has another id."}
	}
	return attention.Dismiss(ctx, d.s.Shelf(), id)
}

// Candidates are what waits for a person, most reinforced first.
type Candidates struct {
	Memory []ken.Claim // patterns and hot facts, in every turn once they are approved, and candidate rules
	Others []ken.Claim // hypotheses of all other kinds, those of the structure left out
}

// Candidates lists what waits for a review. What has expired is left out.
func (d *Desk) Candidates(ctx context.Context) (Candidates, error) {
	var out Candidates
	var err error
	if out.Memory, err = d.Memory(ctx, false); err != nil {
		return Candidates{}, err
	}
	f := ken.Filter{Statuses: []ken.Status{ken.StatusHypothesis}, ClaimsOnly: true, Now: d.o.Now()}
	for c, err := range d.s.Scan(ctx, &f, nil) {
		if err != nil {
			return Candidates{}, err
		}
		if !Reviewed(&c) {
			out.Others = append(out.Others, c)
		}
	}
	sortForReview(out.Others)
	return out, nil
}

// Memory lists the candidates among the claims that MEMORY.md is about and the candidate
// rules that stand, and with all also what MEMORY.md has that was approved, most
// reinforced first.
func (d *Desk) Memory(ctx context.Context, all bool) ([]ken.Claim, error) {
	claims, err := memoryfile.List(ctx, d.s)
	if err != nil {
		return nil, err
	}
	if !all {
		claims = slices.DeleteFunc(claims, func(c ken.Claim) bool { return c.Status != ken.StatusHypothesis })
	}
	f := ken.Filter{Statuses: ken.RecallStatuses(), ClaimsOnly: true, Now: d.o.Now()}
	for c, err := range d.s.Scan(ctx, &f, func(g store.Glance) bool { return g.Candidate }) {
		if err != nil {
			return nil, err
		}
		if !InMemory(c.Kind) {
			claims = append(claims, c)
		}
	}
	sortForReview(claims)
	return claims, nil
}

func sortForReview(claims []ken.Claim) {
	slices.SortFunc(claims, func(x, y ken.Claim) int { return memoryfile.MostReinforced(&x, &y) })
}
