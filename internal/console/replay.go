package console

import (
	"errors"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// replayBody is what a turn was given, and what it would be given now.
type replayBody struct {
	Now    time.Time
	Turn   middleware.KeptTurn
	Tone   string
	Views  []choice
	Then   middleware.Replay
	After  *ken.Receipt // nil where the turn can't be asked again
	Change blockComparison
	Unable *problemPage // why it can't
}

// replayPage shows the bytes as they were, and asks the same again with the settings and
// the knowledge of now.
func replayPage(v *visit) error {
	id := v.r.PathValue("id")
	b := replayBody{Now: v.now(), Views: v.turnViews(id, "replay")}
	var err error
	if b.Then, err = v.con.l.Replay(v.ctx(), v.owner(), id); err != nil {
		return noTurn(err)
	}
	b.Turn, b.Tone = b.Then.Turn, modeTone(b.Then.Turn.Mode)
	asked, unable, err := v.asked(id)
	if err != nil {
		return err
	}
	b.Unable = unable
	if unable == nil {
		tried, err := v.con.l.Trial(v.ctx(), asked, v.con.l.Config())
		if err != nil {
			return err
		}
		b.After = &tried.Receipt
		if err := v.thenAndNow(&b); err != nil {
			return err
		}
	}
	return v.page("replay", page{Title: "Turn, then and now", Section: secTurns, Tab: "Live", Body: &b})
}

// asked is a turn as it was asked, or why nobody knows that any more.
func (v *visit) asked(id string) (ken.Turn, *problemPage, error) {
	t, err := v.con.l.TurnAsked(v.ctx(), v.owner(), id)
	if errors.Is(err, ken.ErrNotFound) {
		p := problemOf(err)
		var e *ken.Error
		if errors.As(err, &e) {
			p.Msg = e.Msg
		}
		return t, &p, nil
	}
	return t, nil, err
}

// thenAndNow compares the block that was given with the one that was tried.
func (v *visit) thenAndNow(b *replayBody) error {
	return v.withStore(func(s store.Engine) error {
		before, err := v.picture(s, &b.Turn.Receipt, b.Turn.Items, nil)
		if err != nil {
			return err
		}
		after, err := v.pictureOf(s, b.After)
		if err != nil {
			return err
		}
		b.Change = compareBlocks(sideOf(&before, b.Then.Block, b.Then.Missing), sideOf(&after, b.After.Block, nil), func(it *shownItem) string {
			if it.State == middleware.ItemForgotten {
				return "forgotten since"
			}
			return ""
		})
		return nil
	})
}
