package console

import (
	"context"
	"fmt"

	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// changingSession is a handler that does something with the session of the path.
func changingSession(did string, do func(v *visit, id string) error) func(*visit) error {
	return func(v *visit) error {
		info, err := v.con.l.Journal(v.owner()).Info(v.ctx(), v.r.PathValue("id"))
		if err != nil {
			return noSession(err)
		}
		if err := do(v, info.ID); err != nil {
			return err
		}
		if did == "forgotten" {
			return v.did(pathOf("sessions"), did)
		}
		return v.did(pathOf("sessions", info.ID), did)
	}
}

func endSession(v *visit, id string) error {
	return v.con.l.End(v.ctx(), v.owner(), id, session.Closed)
}

func harvestSession(v *visit, id string) error {
	_, err := v.con.l.HarvestAgain(v.ctx(), v.owner(), id)
	return err
}

// forgetSession erases a session. Half of it would be worse than none, so the end of
// the visit does not stop it.
func forgetSession(v *visit, id string) error {
	ctx := context.WithoutCancel(v.ctx())
	return v.withStore(func(s store.Engine) error {
		if err := v.con.l.ForgetSession(ctx, v.owner(), id); err != nil {
			return err
		}
		v.con.turns.Drop(v.owner())
		if err := s.Compact(ctx); err != nil { // the pages that held it are free, and still full of it
			return fmt.Errorf("clear the disk of a session: %w", err)
		}
		return nil
	})
}
