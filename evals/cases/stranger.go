package cases

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/kenlayer/ken"
)

// signals are those of the turn; nil when it was not read.
func (o *outcome) signals() *ken.Signals {
	if o.state == nil {
		return nil
	}
	return &o.state.Signals
}

// stranger asks the same as another owner, through the chain and each leg alone,
// and looks for what is the case's owner's. The repository is everybody's.
func (e *examiner) stranger(ctx context.Context) error {
	const check = "other_owner_sees_nothing"
	other := e.c.Want.Stranger
	if other == "" {
		return nil
	}
	want := fmt.Sprintf("nothing of %s's for %s", e.owner, other)
	if other == e.owner {
		e.fail(check, want, "Name somebody else.", other+" is the owner of the case")
		return nil
	}
	last := e.c.Messages[lastUser(e.c.Messages)].Text
	ids, texts := map[string]bool{}, map[string]bool{}
	for c, err := range e.s.Claims(ctx) {
		if err != nil {
			return err
		}
		ids[c.ID], texts[plain(c.Text)] = true, true
	}
	own, err := e.search(ctx, e.s, last, e.out.signals())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(slices.Concat(slices.Collect(maps.Values(own))...), func(c ken.Claim) bool { return ids[c.ID] }) {
		e.fail(check, want, "Ask for something that "+e.owner+" knows.",
			fmt.Sprintf("the question finds none of %s's %d claims for %s either, so nothing could leak", e.owner, len(ids), e.owner))
		return nil
	}
	s, release, err := e.f.layer.Store(ctx, other)
	if err != nil {
		return err
	}
	defer release()
	out, err := e.r.converse(ctx, e.f, e.c, other)
	if err != nil {
		return err
	}
	var have []string
	tell := func(where string, c *ken.Claim) {
		if c.Kind != ken.KindDocument && (ids[c.ID] || texts[plain(c.Text)]) {
			have = append(have, fmt.Sprintf("%s finds %s %s", where, name(c.ID, c.Key), headline(c.Heading, c.Text)))
		}
	}
	for _, it := range out.items {
		tell("the block", &ken.Claim{ID: it.ID, Key: it.Key, Kind: it.Kind, Heading: it.Heading, Text: it.Text})
	}
	for _, cut := range out.receipt.Cut {
		tell("the receipt's list of what was cut", &ken.Claim{ID: cut.ID})
	}
	found, err := e.search(ctx, s, last, out.signals())
	if err != nil {
		return err
	}
	for _, leg := range slices.Sorted(maps.Keys(found)) {
		for i := range found[leg] {
			tell("the "+leg+" leg", &found[leg][i])
		}
	}
	if len(have) > 0 {
		e.fail(check, want, "See how the claim came to be "+other+"'s: ken history, with --owner "+other+".", have...)
	}
	return nil
}

func lastUser(msgs []ken.Message) int {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == "user" {
			return i
		}
	}
	return 0 // a case has one
}
