package api

import (
	"errors"
	"net/http"
	"reflect"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/receipt"
)

// TurnList is a page of receipts, the newest first, without texts.
type TurnList struct {
	Turns    []receipt.Record `json:"turns"`
	Next     string           `json:"next,omitempty"`
	Warnings []string         `json:"warnings,omitempty" jsonschema:"what could not be read and is missing"`
}

func turnRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/turns", id: "listTurns", tag: "turns", right: access.Read,
		summary: "List the receipts of turns",
		about: "List the receipts of turns, the newest first. Those of one session need the right read; those of all, operate. Texts are in none: read a turn for them. " +
			"The words of the question (signals) are for operators and for the key that the turn came with.",
		params: []*param{pSession, pLimit, pCursor},
		status: http.StatusOK, answer: reflect.TypeFor[TurnList](), serve: (*API).listTurns,
	}, {
		method: http.MethodGet, path: "/api/turns/{turn}", id: "getTurn", tag: "turns", right: access.Read,
		summary: "Read the receipt of a turn",
		about: "Read what was injected into a turn and why, what was cut and what was degraded. Texts are those of the claims as they are now: " +
			"what was forgotten has none, and says so.",
		status: http.StatusOK, answer: reflect.TypeFor[inspect.Turn](), fails: []problemCode{codeNotFound}, serve: (*API).getTurn,
	}, {
		method: http.MethodGet, path: "/api/turns/{turn}/explain", id: "explain", tag: "turns", right: access.Read,
		summary: "Ask why a claim was injected, or not", about: "Say why a claim is in the block of a turn, or why it is not: it was cut, no leg found it, it was not known yet.",
		params: []*param{pClaim}, status: http.StatusOK, answer: reflect.TypeFor[inspect.Explanation](),
		fails: []problemCode{codeNotFound}, serve: (*API).explain,
	}}
}

func (a *API) listTurns(c *call) (*reply, error) {
	q := receipt.Query{Session: c.text(pSession), Limit: c.number(pLimit)}
	if q.Session == "" && !c.operator() {
		return nil, c.needsOperator("session", "without session, the receipts of all turns are listed")
	}
	from, given, err := c.startPosition()
	if err != nil {
		return nil, err
	}
	if given {
		q.Before = from.id
	}
	out := TurnList{}
	var before string
	out.Turns, before, err = a.l.Operator().Receipts(c.who.Owner).List(c.ctx(), q)
	if out.Warnings, err = warningsOf(err); err != nil {
		return nil, err
	}
	if out.Turns == nil {
		out.Turns = []receipt.Record{}
	}
	for i := range out.Turns {
		c.hideQuestion(&out.Turns[i])
	}
	if before != "" {
		out.Next = c.cursor(position{id: before})
	}
	return &reply{body: out, next: out.Next}, nil
}

func noTurn(err error) error {
	var e *ken.Error
	if !errors.As(err, &e) || e.Code != ken.CodeNotFound || e.Field != "turn" {
		return err
	}
	return &ken.Error{Code: ken.CodeNotFound, Field: "turn", Msg: "no receipt for this turn",
		Try: "List them with GET /api/turns: only the newest are kept, and those of forgotten sessions are gone."}
}

func (a *API) getTurn(c *call) (*reply, error) {
	t, err := a.l.Operator().Turn(c.ctx(), c.who.Owner, c.path["turn"])
	c.hideQuestion(&t.Record)
	return &reply{body: t}, noTurn(err)
}

// hideQuestion removes the words of the question from a receipt, unless the caller may see what was said: an operator, or
// the key that the turn came with.
func (c *call) hideQuestion(r *receipt.Record) {
	if !c.operator() && !c.who.Asked(r.Key) {
		r.Signals = ken.Signals{Keywords: []string{}, Symbols: []string{}, Failures: []string{}, Entities: []string{}}
	}
}

func (a *API) explain(c *call) (*reply, error) {
	id, ok := wholeID(c.text(pClaim))
	if !ok {
		id = c.text(pClaim) // for ids that are no UUID, such as a checkpoint's
	}
	e, err := a.l.Operator().Explain(c.ctx(), c.who.Owner, c.path["turn"], id)
	return &reply{body: e}, noTurn(err)
}
