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

// ContradictionReason is the reason with which a claim is disputed because another
// one contradicts it. List recognises it, and puts the two into one item. why may
// be empty.
func ContradictionReason(other, why string) string {
	if why = strings.TrimSpace(why); why != "" {
		return contradicts + other + ": " + why
	}
	return contradicts + other
}

// reasons are how consolidation begins to say whom a claim is disputed for. The
// last is of a claim that is disputed alone, because the other is worth more.
var reasons = []string{contradicts, "contradicted by ", "against "}

// contradicted reads a ContradictionReason, or what consolidation says: the first
// claim that it names. Each of several has a dispute of its own.
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

// disputed are claims that were verified before, and pairs that contradict each
// other. A claim that is disputed for another reason, such as a candidate that was
// turned down, asks for nothing.
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
			// A superseded or forgotten counterpart has settled it, and so has one
			// that somebody verified since: what is left is a disputed claim like others.
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

// settled reports whether a contradiction is decided by what became of the claim
// that was there before. One that was verified when it was contradicted stands, and
// somebody still has to hear of it.
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

// dispute is the event that made a claim what it is, if it is disputed.
func dispute(events []ken.ClaimEvent) (ken.ClaimEvent, bool) {
	for _, e := range slices.Backward(events) {
		if e.Type == ken.EventTransitioned {
			return e, e.To == ken.StatusDisputed
		}
	}
	return ken.ClaimEvent{}, false
}

// disputing is the command that disputes a claim.
func disputing(id string) string { return "ken dispute " + id + " --reason TEXT" }

func quoted(c *ken.Claim) string { return "“" + excerpt(c.Text) + "”" }

func percent(p float64) string { return strconv.Itoa(int(math.Round(100*p))) + " %" }
