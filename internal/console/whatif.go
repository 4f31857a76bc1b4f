package console

import (
	"strconv"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/store"
)

// whatifBody is a turn tried twice: with the settings as they are, and with others.
type whatifBody struct {
	Now    time.Time
	ID     string
	Turn   receipt.Record
	Views  []choice
	Form   settingsForm
	Unable *problemPage
	Rows   []measure
	Change *blockComparison
	Tried  *picture
	Block  string
}

// measure is one figure of both trials.
type measure struct{ Name, Now, Then string }

// whatifPage tries a turn again with other settings than those in force. All of them are
// in the address, so that a finding can be kept and sent.
func whatifPage(v *visit) error {
	id := v.r.PathValue("id")
	b := whatifBody{Now: v.now(), ID: id, Views: v.turnViews(id, "whatif")}
	var err error
	if b.Turn, err = v.con.l.Receipts(v.owner()).Get(v.ctx(), id); err != nil {
		return noTurn(err)
	}
	asked, unable, err := v.asked(id)
	if err != nil {
		return err
	}
	if b.Unable = unable; unable == nil {
		if b.Form, err = v.settings(asked.Scopes); err != nil {
			return err
		}
		if b.Form.Given && len(b.Form.Wrong) == 0 {
			if err := v.tryBoth(&b, asked); err != nil {
				return err
			}
		}
	}
	return v.page("whatif", page{Title: "What if", Section: secTurns, Tab: "Live", Body: &b})
}

// tryBoth tries the turn with the settings in force and with those of the form.
func (v *visit) tryBoth(b *whatifBody, asked ken.Turn) error {
	is, err := v.con.l.Trial(v.ctx(), asked, v.con.l.Config())
	if err != nil {
		return err
	}
	other := asked
	other.Scopes = nil // those of the form
	would, err := v.con.l.Trial(v.ctx(), other, b.Form.Config)
	if err != nil {
		return err
	}
	b.Rows, b.Block = measures(&is.Receipt, &would.Receipt), would.Receipt.Block
	return v.withStore(func(s store.Engine) error {
		before, err := v.pictureOf(s, &is.Receipt)
		if err != nil {
			return err
		}
		after, err := v.pictureOf(s, &would.Receipt)
		if err != nil {
			return err
		}
		c := compareBlocks(sideOf(&before, is.Receipt.Block, nil), sideOf(&after, would.Receipt.Block, nil), func(*shownItem) string { return "" })
		b.Change, b.Tried = &c, &after
		return nil
	})
}

// measures are the figures of two receipts side by side.
func measures(a, b *ken.Receipt) []measure {
	of := func(name string, of func(*ken.Receipt) string) measure { return measure{name, of(a), of(b)} }
	return []measure{
		of("mode", func(r *ken.Receipt) string {
			if r.Cause != "" {
				return string(r.Mode) + ", " + r.Cause
			}
			return string(r.Mode)
		}),
		of("items", func(r *ken.Receipt) string { return count(len(r.Items)) }),
		of("left out", func(r *ken.Receipt) string { return count(len(r.Cut)) }),
		of("characters", func(r *ken.Receipt) string { return count(r.Chars) }),
		of("rules that did not fit", func(r *ken.Receipt) string { return strconv.Itoa(r.OverflowedConstraints) }),
		of("stages degraded", func(r *ken.Receipt) string { return strconv.Itoa(len(r.Degraded)) }),
		of("took", func(r *ken.Receipt) string { return millis(r.MS["total"]) }),
	}
}
