package console

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/store"
)

// reviewed are the words for what was done, by the decision about one claim; about
// several it is "decided".
var reviewed = map[operator.Decision]string{operator.Approve: "approved", operator.Reject: "rejected", operator.Rewrite: "edited"}

// written is a text of the form as it was typed: a browser sends the ends of lines as
// two characters.
func (v *visit) written(name string) string {
	return strings.TrimSpace(strings.ReplaceAll(v.r.PostForm.Get(name), "\r\n", "\n"))
}

// review carries out one decision about the chosen candidates, each by itself. When one
// fails, the answer is the list with what became of each, since no address can hold
// that.
func review(v *visit) error {
	decision, ids := operator.Decision(v.text("decision")), v.r.PostForm["claim"]
	if _, ok := reviewed[decision]; !ok || decision == operator.Rewrite && len(ids) > 1 {
		return &ken.Error{Code: ken.CodeInvalid, Field: "decision", Msg: "nothing that can be decided here", Try: "Approve or reject what is chosen, or edit one claim."}
	}
	back := v.back(Prefix + "review")
	if len(ids) == 0 {
		return v.did(back, "nothing")
	}
	verdicts := make([]operator.Verdict, len(ids))
	for i, id := range ids {
		verdicts[i] = operator.Verdict{ID: id, Decision: decision, Text: v.written("text")}
	}
	b := reviewBody{Now: v.now()}
	status := http.StatusOK
	err := v.withStore(func(s store.Engine) error {
		outcomes, unwritten := v.desk(s).Review(v.ctx(), verdicts)
		for i, o := range outcomes {
			if o.Err == nil {
				b.Done++
				continue
			}
			p := problemOf(o.Err)
			status = p.Status
			f := failure{ID: ids[i], Msg: p.Msg, Try: p.Try}
			if c, err := s.Get(v.ctx(), ids[i]); err == nil {
				f.Text = c.Text
			}
			b.Failed = append(b.Failed, f)
		}
		if unwritten != nil {
			b.Warning = problemOf(unwritten).Msg
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(b.Failed) == 0 && b.Warning == "" && len(ids) > 1:
		return v.did(back, "decided")
	case len(b.Failed) == 0 && b.Warning == "":
		return v.did(back, reviewed[decision])
	}
	if b.Done > 0 {
		status = http.StatusOK // some of it is done: the list is what it is now
	}
	var q url.Values
	if u, err := url.Parse(back); err == nil {
		q = u.Query()
	}
	if err := v.reviewList(&b, q); err != nil {
		return err
	}
	return v.page("review", page{Title: "Candidates", Section: secReview, Tab: "Candidates", Status: status, Live: []string{liveClaims}, Body: b})
}
