package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

type scanner interface {
	Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error]
}

func testScan(k *kit) {
	if _, ok := k.s.(scanner); !ok {
		k.Skip("the store has no Scan")
	}
	scan := func(f ken.Filter, want func(store.Glance) bool) (found []string) {
		k.Helper()
		for c, err := range k.s.(scanner).Scan(k.ctx, &f, want) {
			if err != nil {
				k.Fatal(err)
			}
			found = append(found, c.ID)
		}
		return found
	}
	every := func(store.Glance) bool { return true }
	// A body that speaks of the same things must not be taken for the claim.
	sure := k.write("sure", func(c *ken.Claim) {
		c.Confidence, c.Body = 0.9, json.RawMessage(`{"confidence":0.1,"superseded_by":"x","archived_at":"y","expires_at":"z"}`)
	})
	unsure := k.write(`unsure "confidence":0.9`, func(c *ken.Claim) { c.Confidence = 0.2 })
	scoped := k.write("scoped", func(c *ken.Claim) { c.Confidence, c.Scope = 0.2, ken.Scope{Type: ken.ScopeRun, ID: "1"} })
	expired := k.write("expired", func(c *ken.Claim) { c.ExpiresAt = epoch })
	k.supersede(sure, unsure)

	all := ken.Filter{Statuses: ken.Statuses()}
	if found := scan(all, every); !sameSet(found, []string{sure, unsure, scoped, expired}) || found[0] != sure {
		k.Errorf("all are %v", found)
	}
	if found := scan(all, nil); len(found) != 4 {
		k.Errorf("without a wish all are %v", found)
	}
	if found := scan(ken.Filter{Now: epoch.Add(time.Hour)}, every); !sameSet(found, []string{unsure, scoped}) {
		k.Errorf("what stands now is %v", found)
	}
	below := func(g store.Glance) bool { return g.Confidence < 0.5 }
	if found := scan(all, below); !sameSet(found, []string{unsure, scoped}) {
		k.Errorf("of little confidence are %v", found)
	}
	if found := scan(ken.Filter{Scopes: []ken.Scope{{Type: ken.ScopeRun, ID: "1"}}}, below); !slices.Equal(found, []string{scoped}) {
		k.Errorf("of one scope is %v", found)
	}
	if found := scan(all, func(g store.Glance) bool { return g.SupersededBy == unsure }); !slices.Equal(found, []string{sure}) {
		k.Errorf("superseded by %s is %v", unsure, found)
	}
	if found := scan(all, func(g store.Glance) bool { return g.Expires }); !slices.Equal(found, []string{expired}) {
		k.Errorf("with an end is %v", found)
	}
	if found := scan(all, func(g store.Glance) bool { return g.Archived }); found != nil {
		k.Errorf("archived are %v", found)
	}
	if a, ok := k.s.(archiver); ok {
		if err := a.Archive(k.ctx, expired, "", ken.Actor{}); err != nil {
			k.Fatal(err)
		}
		if found := scan(all, func(g store.Glance) bool { return g.Archived }); !slices.Equal(found, []string{expired}) {
			k.Errorf("archived are %v", found)
		}
	}
	over, cancel := context.WithCancel(k.ctx)
	cancel()
	for _, err := range k.s.(scanner).Scan(over, &all, every) {
		if !errors.Is(err, context.Canceled) {
			k.Errorf("after the end of its context: %v", err)
		}
	}
	for _, err := range k.s.(scanner).Scan(k.ctx, &all, every) {
		if err != nil {
			k.Error(err)
		}
		break
	}
}
