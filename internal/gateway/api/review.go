package api

import (
	"cmp"
	"errors"
	"reflect"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/store"
)

func reviewRoutes() []*route {
	empty := reflect.TypeFor[struct{}]()
	return []*route{
		move("approve", "approve", access.Operate, "Approve a hypothesis",
			"Take a hypothesis for true, on a person's word. A pattern or a hot fact is in every turn from then on. One that was approved before stays as it is.",
			`{}`, empty, reviewing(operator.Approve)),
		move("reject", "reject", access.Operate, "Reject a hypothesis",
			"Turn a claim down, on a person's word. It stays known, so that seeing it again does not make it a candidate again.",
			`{}`, empty, reviewing(operator.Reject)),
	}
}

// reviewing carries a verdict out.
func reviewing(decision operator.Decision) moveFunc {
	return func(_ *API, c *call, s store.Engine, had *ken.Claim) error {
		out, err := c.desk(s).Review(c.ctx(), []operator.Verdict{{ID: had.ID, Decision: decision}})
		if errors.Is(out[0].Err, ken.ErrNotFound) { // what MEMORY.md says was read meanwhile
			return noClaim()
		}
		return cmp.Or(out[0].Err, err)
	}
}
