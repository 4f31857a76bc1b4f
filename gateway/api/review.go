package api

import (
	"context"
	"reflect"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/access"
	"github.com/kenlayer/ken/harvest/memoryfile"
	"github.com/kenlayer/ken/store"
)

func reviewRoutes() []*route {
	empty := reflect.TypeFor[struct{}]()
	return []*route{
		move("approve", "approve", access.Operate, "Approve a hypothesis",
			"Take a hypothesis for true, on a person's word. A pattern or a hot fact is in every turn from then on. One that was approved before stays as it is.",
			`{}`, empty, reviewing(memoryfile.Approve, ken.StatusObserved, ken.StatusVerified)),
		move("reject", "reject", access.Operate, "Reject a hypothesis",
			"Turn a claim down, on a person's word. It stays known, so that seeing it again does not make it a candidate again.",
			`{}`, empty, reviewing(memoryfile.Reject, ken.StatusDisputed)),
	}
}

type decision func(ctx context.Context, s ken.Store, id, by string, at time.Time) error

// reviewing carries a decision out, unless it was made already. What is listed in
// MEMORY.md is read from there before, because a person may have decided there, and
// written there afterwards.
func reviewing(do decision, already ...ken.Status) moveFunc {
	return func(a *API, c *call, s store.Engine, had *ken.Claim) error {
		listed := (had.Kind == ken.KindPattern || had.Kind == ken.KindHot) && s.Owner() == a.l.Config().Knowledge.Owner
		if listed {
			if _, err := a.l.SyncMemory(c.ctx(), ""); err != nil {
				return err
			}
			now, err := claim(c.ctx(), s, had.ID)
			if err != nil {
				return err
			}
			had = &now
		}
		for _, status := range already {
			if had.Status == status {
				return nil
			}
		}
		if err := do(c.ctx(), s, had.ID, c.who.Name, a.o.Now()); err != nil || !listed {
			return err
		}
		_, err := a.l.SyncMemory(context.WithoutCancel(c.ctx()), c.who.Name)
		return err
	}
}
