package consoletest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// work is a job that was given up on, and one that waits for its time: not before a month
// after Options.Now, so that a server which looks after the project leaves it alone.
func (f *furnisher) work() []step {
	return []step{f.change(time.Hour, "jobs", func(ctx context.Context, s store.Engine) error {
		q := jobs.NewQueue(s.Shelf(), jobs.Options{Worker: "furnish", Now: f.clock.Now})
		payload := func(session string) []byte { return fmt.Appendf(nil, `{"session":%q,"part":1,"upto":12}`, session) }
		if _, _, err := q.Add(ctx, jobs.New{Kind: session.JobHarvest, Key: "s-lost/1/12", Payload: payload("s-lost")}); err != nil {
			return err
		}
		report, err := q.Drain(ctx, map[string]jobs.Handler{session.JobHarvest: func(context.Context, jobs.Job, func(string, int, int)) (string, error) {
			return "", jobs.Permanent(&ken.Error{Code: ken.CodeNotFound, Msg: "the messages of session s-lost are gone " + script, Try: "Remove the job."})
		}})
		if err != nil {
			return err
		}
		if report.Dead != 1 {
			return errors.New("the job is not dead")
		}
		_, _, err = q.Add(ctx, jobs.New{Kind: session.JobHarvest, Key: "s-later/1/3", Payload: payload("s-later"), After: f.o.Now.Add(30 * day)})
		return err
	})}
}
