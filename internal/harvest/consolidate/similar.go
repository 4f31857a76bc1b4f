package consolidate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
)

// Near is how many claims are looked at by each search of Similar.
const Near = 20

// Keyed is a store that finds a claim by its key. With another one, Similar looks
// for a claim's own earlier version among what it finds by words.
type Keyed interface {
	// ByKey returns the claim that holds a key, whatever its status; ErrNotFound when
	// there is none.
	ByKey(ctx context.Context, key string) (ken.Claim, error)
}

// Similar finds what a new claim is to be compared with: claims of its scope and
// kind that share its words, or its entities, or say in other words what it says has
// changed; superseded ones only if they carry
// evidence of its session; and the claim that holds its key. Of claims whose words are all
// different it finds none, which costs a merge and no fact.
func Similar(ctx context.Context, st ken.Store, c ken.Claim) ([]ken.Claim, error) {
	filter := ken.Filter{Scopes: []ken.Scope{c.Scope}, Kinds: []ken.Kind{c.Kind}, ClaimsOnly: true, Statuses: []ken.Status{
		ken.StatusObserved, ken.StatusInferred, ken.StatusVerified, ken.StatusHypothesis, ken.StatusDisputed}}
	if family(c.Kind) == ken.KindFact {
		filter.Kinds = []ken.Kind{ken.KindFact, ken.KindHot}
	}
	question := c.Text
	if c.Heading != "" {
		question = c.Heading + "\n" + c.Text
	}
	past := filter
	past.Statuses = []ken.Status{ken.StatusSuperseded}
	queries := []ken.Query{
		{Question: question, Filter: filter, Limit: Near},
		{Question: strings.Join(c.Entities, " "), Filter: filter, Limit: Near},
		{Question: attributeOf(c.Text), Filter: filter, Limit: Near},
		{Question: question, Filter: past, Limit: Near},
	}
	var out []ken.Claim
	add := func(k ken.Claim) {
		if !slices.ContainsFunc(out, func(o ken.Claim) bool { return o.ID == k.ID }) {
			out = append(out, k)
		}
	}
	if st, ok := st.(Keyed); ok && c.Key != "" {
		switch own, err := st.ByKey(ctx, c.Key); {
		case err == nil:
			add(own)
		case !errors.Is(err, ken.ErrNotFound):
			return nil, fmt.Errorf("find claim by key: %w", err)
		}
	}
	for _, q := range queries {
		if strings.TrimSpace(q.Question) == "" {
			continue
		}
		found, err := st.Query(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("find similar claims: %w", err)
		}
		for _, k := range found {
			if k.Status != ken.StatusSuperseded || isOwn(&k, &c) || heard(&k, &c) {
				add(k)
			}
		}
	}
	return out, nil
}

// attributeOf returns the words in which others may have said what a statement of
// change replaces, "" for any other statement: who has moved lived somewhere, and
// shares no word but the name with where that was.
func attributeOf(s string) string {
	t := read(s)
	f, ok := parse(t.words)
	if !ok || t.alien || t.raw || t.code || len(f.subject) == 0 {
		return ""
	}
	var says aspect
	for _, slot := range f.slots {
		says |= changes[phrase{f.key, slot.prep}]
	}
	var b strings.Builder
	for i := range f.subject {
		b.WriteString(f.subject[i].raw + " ")
	}
	switch {
	case says&home != 0:
		b.WriteString("lives resides based moved relocated")
	case says&employment != 0:
		b.WriteString("works employed hired joined job")
	default:
		return ""
	}
	return b.String()
}
