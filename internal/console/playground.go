package console

import (
	"context"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
	"github.com/kenlayer/ken/middleware"
)

// Model calls the configured model for the page that tries a message.
type Model struct {
	Name string
	Ask  func(ctx context.Context, messages []ken.Message) (ModelAnswer, error)
}

// ModelAnswer is a model's answer, with the token counts of its API.
type ModelAnswer struct {
	Text                  string
	Input, Cached, Output int
}

type triedAnswer struct {
	Title string
	Text  string
	Took  float64 // in milliseconds
	ModelAnswer
	Problem *errorPage
}

// errNoModel means that no model can be asked.
var errNoModel = &ken.Error{Code: ken.CodeRefused, Field: "upstream.base_url", Msg: "no model is configured, or this key has limits", Try: "Set upstream.base_url and upstream.model, and use a key without limits."}

// mayAsk reports whether the visitor may ask the configured model. Answers cost money, and no
// key's limit counts them.
func (v *visit) mayAsk() bool {
	return v.con.opts.Model != nil && v.canOperate() && !v.principal.Limited()
}

// askModel shows the configured model's answers to a message, with and without the block. The
// message is in the address, as in a dry run.
func askModel(v *visit) error {
	if !v.mayAsk() {
		return errNoModel
	}
	b, err := v.tryOf()
	if err != nil {
		return err
	}
	if b.View != nil {
		plain := withoutSecrets(b.turn.Messages)
		b.Answers = []triedAnswer{{Title: "With the block"}, {Title: "Without it"}}
		var both sync.WaitGroup
		for i, messages := range [][]ken.Message{withBlock(plain, b.insertions), plain} {
			both.Go(func() { v.answer(&b.Answers[i], messages) })
		}
		both.Wait()
	}
	return v.tryForm(b)
}

// answer asks the model and counts the usage.
func (v *visit) answer(a *triedAnswer, messages []ken.Message) {
	began := v.now()
	got, err := v.con.opts.Model.Ask(v.ctx(), messages)
	if err != nil {
		p := errorPageOf(err)
		a.Problem = &p
		return
	}
	a.ModelAnswer, a.Took, a.Text = got, float64(v.now().Sub(began))/float64(time.Millisecond), guardrail.StripReasoning(got.Text)
	if v.con.opts.Usage == nil {
		return
	}
	r := usage.Row{Key: v.principal.Name, Owner: v.owner(), Model: v.con.opts.Model.Name, Requests: 1, Input: int64(got.Input), Cached: int64(got.Cached), Output: int64(got.Output)}
	cfg := v.con.layer.Config()
	cost, priced := cfg.Gateway.Cost(r.Model, got.Input, got.Cached, got.Output)
	if r.Cost = cost; !priced {
		r.Unpriced = 1
	}
	v.con.opts.Usage.Add(r)
}

// withoutSecrets returns the messages as a turn sends them.
func withoutSecrets(messages []ken.Message) []ken.Message {
	return mapped(messages, func(m *ken.Message) ken.Message {
		out := *m
		out.Text, _ = guardrail.Redact(m.Text)
		return out
	})
}

// withBlock inserts the blocks into the messages, as a turn does.
func withBlock(messages []ken.Message, insertions []middleware.Insertion) (out []ken.Message) {
	for i, m := range messages {
		for _, ins := range insertions {
			switch {
			case ins.Before != i:
			case ins.Merge:
				m.Text = ins.Text + "\n\n" + m.Text
			default:
				out = append(out, ken.Message{Role: "user", Text: ins.Text})
			}
		}
		out = append(out, m)
	}
	return out
}
