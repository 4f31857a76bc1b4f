package attention

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

const contradicts = "contradicts "

// ContradictionReason returns the reason for disputing a claim that another one
// contradicts. List recognises it, and puts both claims into one item. why may be empty.
func ContradictionReason(other, why string) string {
	if why = strings.TrimSpace(why); why != "" {
		return contradicts + other + ": " + why
	}
	return contradicts + other
}

// reasons are the prefixes of reasons with which consolidation disputes claims. With the
// last one, only this claim is disputed, because the other is better supported.
var reasons = []string{contradicts, "contradicted by ", "against "}

// contradicted parses a ContradictionReason, or a reason of consolidation. It returns the
// first claim that the reason names; each of several claims has a dispute of its own.
func contradicted(reason string) (other, why string, ok bool) {
	for _, start := range reasons {
		rest, found := strings.CutPrefix(reason, start)
		if !found {
			continue
		}
		other, why, _ = strings.Cut(rest, ":")
		first, _, _ := strings.Cut(other, ",")
		id, err := uuid.Parse(strings.TrimSpace(first))
		return id.String(), strings.TrimSpace(why), err == nil
	}
	return "", "", false
}

// disputed returns items for disputed claims that were verified before, and for pairs
// that contradict each other. Claims that were disputed for another reason, such as
// rejected candidates, need no action.
func (l *lister) disputed(ctx context.Context) ([]Item, error) {
	var items []Item
	pairs := map[[2]string]bool{}
	want := func(g store.Glance) bool { return !g.Archived }
	for c, err := range l.src.Scan(ctx, l.filter(ken.StatusDisputed), want) {
		if err != nil {
			return nil, err
		}
		events, err := l.src.History(ctx, c.ID)
		if err != nil {
			return nil, err
		}
		e, ok := dispute(events)
		if !ok {
			continue
		}
		if id, why, ok := contradicted(e.Reason); ok {
			other, err := l.get(ctx, id)
			if err != nil {
				return nil, err
			}
			// A superseded or forgotten counterpart, or one that was verified since, has
			// settled the contradiction. Then the claim is a disputed claim like others.
			settled, err := l.settled(ctx, other, &e)
			if err != nil {
				return nil, err
			}
			if !settled {
				a, b := &c, other
				if b.CreatedAt.Before(a.CreatedAt) || b.CreatedAt.Equal(a.CreatedAt) && b.ID < a.ID {
					a, b = b, a
				}
				if pair := [2]string{a.ID, b.ID}; !pairs[pair] {
					pairs[pair] = true
					items = append(items, contradiction(e, a, b, why))
				}
				continue
			}
		}
		if e.From != ken.StatusVerified {
			continue
		}
		text := "Was verified: " + quoted(&c)
		if e.Reason != "" {
			text += " Disputed: " + excerpt(e.Reason)
		}
		items = append(items, item(Disputed, e.At, text, []string{c.ID},
			[]string{"ken history " + c.ID, "ken verify " + c.ID, "ken supersede " + c.ID + " NEW"}, state(&c)))
	}
	return items, nil
}

// settled reports whether a later change of the older claim has decided a contradiction.
// A claim that was already verified at the time of the contradiction is not a decision,
// so a person must still be informed.
func (l *lister) settled(ctx context.Context, other *ken.Claim, dispute *ken.ClaimEvent) (bool, error) {
	if other == nil || other.Status != ken.StatusVerified {
		return other == nil || other.Status == ken.StatusSuperseded, nil
	}
	events, err := l.src.History(ctx, other.ID)
	if err != nil {
		return false, err
	}
	since := slices.ContainsFunc(events, func(e ken.ClaimEvent) bool {
		return e.To == ken.StatusVerified && (e.Seq > dispute.Seq || e.Seq == dispute.Seq && e.At.After(dispute.At))
	})
	return since, nil
}

func contradiction(e ken.ClaimEvent, older, newer *ken.Claim, why string) Item {
	text := "They contradict each other: " + quoted(older) + " " + quoted(newer)
	if why != "" {
		text += " Deciding: " + excerpt(why)
	}
	return item(Contradicts, e.At, text, []string{older.ID, newer.ID},
		[]string{"ken supersede " + older.ID + " " + newer.ID, "ken verify " + older.ID, "ken verify " + newer.ID, "ken history " + newer.ID},
		state(older), state(newer))
}

// dispute returns the event that disputed a claim, if it is disputed now.
func dispute(events []ken.ClaimEvent) (ken.ClaimEvent, bool) {
	for _, e := range slices.Backward(events) {
		if e.Type == ken.EventTransitioned {
			return e, e.To == ken.StatusDisputed
		}
	}
	return ken.ClaimEvent{}, false
}

// disputing returns the command that disputes a claim.
func disputing(id string) string { return "ken dispute " + id + " --reason TEXT" }

func quoted(c *ken.Claim) string { return "“" + excerpt(c.Text) + "”" }

func percent(p float64) string { return strconv.Itoa(int(math.Round(100*p))) + " %" }
