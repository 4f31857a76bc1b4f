package console

import (
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// blastBody is what forgetting a claim would take along.
type blastBody struct {
	middleware.Blast
	Rows []blastRow
	ID   string
	More int // claims that are not listed
}

type blastRow struct {
	row
	Why string
}

// mostBlast is how many claims the preview lists; all are counted.
const mostBlast = 100

// forgetPage shows what forgetting a claim would take along, and asks. To find that
// out, every claim and every journal is read.
func forgetPage(v *visit) error {
	id := v.r.PathValue("id")
	var c middleware.ClaimView
	err := v.withStore(func(s store.Engine) error {
		found, err := operator.Living(v.ctx(), s, id)
		c = v.con.l.View(found)
		return err
	})
	if err != nil {
		return err
	}
	p := page{Title: "Forget a claim", Section: secStore, Tab: "Claims"}
	return v.slowly("forget", p, map[string]any{"Row": rowOf(&c, v.now())}, func() (string, any, error) {
		blast, err := v.con.l.WouldForget(v.ctx(), v.owner(), c.ID)
		if err != nil {
			return "", nil, err
		}
		b := blastBody{Blast: blast, ID: c.ID, More: max(len(blast.Claims)-mostBlast, 0)}
		for i := range blast.Claims[:len(blast.Claims)-b.More] {
			b.Rows = append(b.Rows, blastRow{rowOf(&blast.Claims[i].ClaimView, v.now()), blast.Claims[i].Why})
		}
		return "blast", b, nil
	})
}

// forgottenBody is what was erased, and what was found when it was looked for.
type forgottenBody struct {
	middleware.Forgotten
	Checks []middleware.Check
	Clean  bool
	Failed string // why the check could not be made
}

// forget erases a claim and shows what went with it, and that it is gone.
func forget(v *visit) error {
	id, reason := v.r.PathValue("id"), strings.TrimSpace(v.text("reason"))
	err := v.withStore(func(s store.Engine) error {
		_, err := operator.Living(v.ctx(), s, id) // what can't be forgotten is no page that has begun
		return err
	})
	if err != nil {
		return err
	}
	return v.slowly("forgotten", page{Title: "Forgotten", Section: secStore, Tab: "Claims"}, map[string]any{}, func() (string, any, error) {
		was, err := v.con.l.WouldForget(v.ctx(), v.owner(), id)
		if err != nil {
			return "", nil, err
		}
		b := forgottenBody{Clean: true}
		err = v.withStore(func(s store.Engine) (err error) {
			b.Forgotten, err = v.desk(s).Forget(v.ctx(), id, reason)
			return err
		})
		v.con.turns.Drop(v.owner()) // receipts went
		if err != nil {
			return "", nil, err
		}
		claims := make([]ken.Claim, len(was.Claims))
		for i := range was.Claims {
			claims[i] = was.Claims[i].Claim
		}
		b.Checks, err = v.con.l.CheckForgotten(v.ctx(), v.owner(), claims, b.Forgotten)
		if err != nil {
			b.Clean, b.Failed = false, err.Error()
		}
		for _, c := range b.Checks {
			b.Clean = b.Clean && c.Clean
		}
		return "erased", b, nil
	})
}
