package console

import (
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/store"
)

// deciding is a handler that changes the claim of the path and goes back to its page,
// or to where the form came from.
func deciding(did string, do func(v *visit, d *operator.Desk, id string) error) func(*visit) error {
	return func(v *visit) error {
		id := v.r.PathValue("id")
		err := v.withStore(func(s store.Engine) error { return do(v, v.desk(s), id) })
		if err != nil {
			return err
		}
		return v.did(v.back(pathOf("claims", id)), did)
	}
}

func verifyClaim(v *visit, d *operator.Desk, id string) error {
	return d.Vouch(v.ctx(), id, strings.TrimSpace(v.text("note")))
}

func disputeClaim(v *visit, d *operator.Desk, id string) error {
	return d.Dispute(v.ctx(), id, strings.TrimSpace(v.text("reason")))
}

func archiveClaim(v *visit, d *operator.Desk, id string) error {
	return d.Archive(v.ctx(), id, strings.TrimSpace(v.text("reason")))
}

// supersedeClaim replaces a claim: by another that is there, named by its id, or by one
// with the text that was written for it.
func supersedeClaim(v *visit) error {
	id, text := v.r.PathValue("id"), strings.TrimSpace(v.text("text"))
	by, reason := strings.TrimSpace(v.text("by")), strings.TrimSpace(v.text("reason"))
	return v.withStore(func(s store.Engine) error {
		switch d := v.desk(s); {
		case by != "" && text != "":
			return &ken.Error{Code: ken.CodeInvalid, Field: "by", Msg: "there are a new text and another claim", Try: "Give one of the two."}
		case by != "":
			if i := strings.LastIndexByte(by, '/'); i >= 0 { // the address of its page will do
				by = by[i+1:]
			}
			if err := d.Supersede(v.ctx(), id, by, reason); err != nil {
				return err
			}
			return v.did(pathOf("claims", id), "superseded")
		case text == "":
			return &ken.Error{Code: ken.CodeInvalid, Field: "text", Msg: "there is nothing to replace it by", Try: "Write what is true instead, or name the claim that says it."}
		default:
			now, err := d.Replace(v.ctx(), id, text, reason)
			if err != nil {
				return err
			}
			return v.did(pathOf("claims", now), "replaced")
		}
	})
}
