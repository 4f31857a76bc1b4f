package session

import (
	"cmp"
	"context"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Injected keeps what was put before the model in a session, so that its harvest
// does not learn it again: each id and text once, as of its first time. A session
// that is not known yet begins. Errors: as of Append.
func (j *Journal) Injected(ctx context.Context, id string, items []ken.Item) error {
	if err := checkID(id); err != nil {
		return err
	}
	now := j.now()
	all := make(map[string]*Injection, len(items))
	for _, it := range items {
		in := &Injection{ID: store.Clean(it.ID), Kind: it.Kind, Text: cleanText(it.Text), At: now}
		if in.Text != "" {
			all[keyInjected(id, in)] = in
		}
	}
	if len(all) == 0 {
		return nil
	}
	missing := false
	err := j.shelf.View(ctx, func(r store.ShelfReader) error {
		for key := range all { // most turns bring nothing new, and a transaction costs a sync
			missing = missing || r.Get(key) == nil
		}
		return nil
	})
	if err != nil || !missing {
		return err
	}
	return j.shelf.Update(ctx, func(tx store.ShelfTx) error {
		rec, err := getRecord(tx, id)
		if err != nil {
			return err
		}
		if rec == nil {
			rec = begin(About{ID: id}, now)
			rec.Process = j.o.Process
			if err := put(tx, keyInfo(id), rec); err != nil {
				return err
			}
		}
		for key, in := range all {
			if tx.Get(key) != nil {
				continue
			}
			if err := put(tx, key, in); err != nil {
				return err
			}
		}
		return nil
	})
}

// injections reads what was injected, first things first.
func injections(r store.ShelfReader, id string) ([]Injection, error) {
	var out []Injection
	for key, b := range r.Scan(allInjected(id)) {
		var in Injection
		if err := decodeValue(key, b, &in); err != nil {
			return nil, err
		}
		out = append(out, in)
	}
	slices.SortStableFunc(out, func(a, b Injection) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}
