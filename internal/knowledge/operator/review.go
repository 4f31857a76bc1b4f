package operator

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/matcher"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// Decision is a reviewer's decision about a claim.
type Decision string

// The decisions.
const (
	// Approve accepts a hypothesis, and makes a rule of a rule candidate. A claim that
	// was approved before is not changed.
	Approve Decision = "approve"
	// Reject disputes a claim. It stays in the store, so that it does not become a
	// candidate again when it is seen again. A claim that is disputed already is not
	// changed.
	Reject Decision = "reject"
	// Rewrite replaces a claim by one with another text, and approves that. With the
	// same text it only approves.
	Rewrite Decision = "rewrite"
)

// Verdict is a decision about a claim.
type Verdict struct {
	ID       string   `json:"id"`
	Decision Decision `json:"decision"`
	Text     string   `json:"text,omitempty"` // new text of a Rewrite
}

// Outcome is the result of a verdict.
type Outcome struct {
	// ID is the id of the resulting claim, which is new after a rewrite. With an error
	// it is the id of the claim in the verdict, or "" if it does not exist.
	ID      string
	Changed bool // false if nothing had to be changed
	Err     error
}

// Approve approves one claim; see Review.
func (d *Desk) Approve(ctx context.Context, id string) error {
	return d.reviewOne(ctx, Verdict{ID: id, Decision: Approve})
}

// Reject rejects one claim; see Review.
func (d *Desk) Reject(ctx context.Context, id string) error {
	return d.reviewOne(ctx, Verdict{ID: id, Decision: Reject})
}

func (d *Desk) reviewOne(ctx context.Context, v Verdict) error {
	out, err := d.Review(ctx, []Verdict{v})
	return cmp.Or(out[0].Err, err)
}

// Review carries out verdicts in order and returns their outcomes in the same order.
// Each succeeds or fails independently. If MEMORY.md lists any of the claims, the file
// is read before, since a person may have edited it, and written afterwards, once each.
// If it can't be read, these claims are not changed. The error is that of writing the
// file; the decisions are stored then.
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

// Decide carries out one verdict without MEMORY.md, for a person who decides one claim
// at a time. Call SyncMemory before the first and after the last one.
func (d *Desk) Decide(ctx context.Context, v Verdict) Outcome {
	out := Outcome{ID: v.ID}
	out.Err = d.decide(ctx, v.ID, func(c *ken.Claim) (err error) {
		out.ID, out.Changed, err = d.carryOut(ctx, c, v)
		return err
	})
	return out
}

// carryOut returns the id of the resulting claim, and whether anything was changed.
func (d *Desk) carryOut(ctx context.Context, c *ken.Claim, v Verdict) (id string, changed bool, err error) {
	switch v.Decision {
	case Rewrite:
		if c.Status == ken.StatusSuperseded || !sameText(v.Text, c.Text) {
			if id, err = d.correct(ctx, c, v.Text, "rewritten"); err != nil {
				return c.ID, false, err
			}
			if c.RuleCandidate {
				var next ken.Claim
				if next, err = Living(ctx, d.s, id); err == nil {
					_, err = d.Editor().ApproveRule(ctx, next)
				}
			}
			return id, true, err
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
		if err = memoryfile.Reject(ctx, d.s, c.ID, d.o.Name, d.o.Now()); err == nil {
			err = matcher.Withdraw(ctx, d.s, c, d.actor())
		}
	default:
		err = &ken.Error{Code: ken.CodeInvalid, Field: "decision", Msg: "unknown decision " + strconv.Quote(string(v.Decision)),
			Try: "Use approve, reject or rewrite."}
	}
	return c.ID, err == nil, err
}

func sameText(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

// SyncMemory applies edits in MEMORY.md and updates the file, if the file is this
// owner's. A file that can't be parsed is ErrInvalid, and is not changed.
func (d *Desk) SyncMemory(ctx context.Context) error {
	if d.s.Owner() != d.l.Config().Knowledge.Owner {
		return nil
	}
	_, err := d.l.Operator().SyncMemory(ctx, d.o.Editor)
	return err
}

// Reviewed reports whether a claim can be approved or rejected in a review. Those are
// claims in MEMORY.md, and rule candidates.
func Reviewed(c *ken.Claim) bool { return InMemory(c.Kind) || c.RuleCandidate }

// InMemory reports whether MEMORY.md lists claims of this kind.
func InMemory(kind ken.Kind) bool { return kind == ken.KindPattern || kind == ken.KindHot }

// Attention lists what a person should look at, warnings first. With all, it includes
// dismissed items. unread is an ErrCorrupt for items that could not be read and are
// missing; the rest of the list is valid.
func (d *Desk) Attention(ctx context.Context, all bool) (items []attention.Item, unread, err error) {
	items, err = attention.List(ctx, d.s, d.s.Shelf(), attention.Options{Now: d.o.Now(), All: all})
	if owner := d.s.Owner(); owner != d.l.Config().Knowledge.Owner { // otherwise the commands would look at the configured owner's claims
		if !plainWord.MatchString(owner) {
			owner = "'" + strings.ReplaceAll(owner, "'", `'\''`) + "'"
		}
		for i := range items {
			for j, c := range items[i].Commands {
				items[i].Commands[j] = strings.Replace(c, "ken ", "ken --owner "+owner+" ", 1)
			}
		}
	}
	if errors.Is(err, ken.ErrCorrupt) {
		return items, err, nil
	}
	return items, nil, err
}

// plainWord matches what a shell takes as it is.
var plainWord = lazyregexp.New(`^[A-Za-z0-9._@+:=-]+$`)

// Dismiss hides an item until something about it changes. The claims are not changed.
// Dismissing an item again changes nothing. It returns ErrNotFound for an unknown id.
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

// Candidates are claims that await a review, most reinforced first.
type Candidates struct {
	Memory []ken.Claim // patterns and hot facts, which are in every turn once approved, and rule candidates
	Others []ken.Claim // hypotheses of all other kinds, except structural ones
}

// Candidates lists the claims that await a review. Expired ones are left out.
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

// Memory lists the candidates for MEMORY.md and the valid rule candidates. With all, it
// includes the approved claims of MEMORY.md. The most reinforced come first.
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
