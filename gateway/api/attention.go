package api

import (
	"context"
	"net/http"
	"reflect"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/access"
	"github.com/kenlayer/ken/attention"
	"github.com/kenlayer/ken/store"
)

// AttentionList is what a person should look at, warnings first.
type AttentionList struct {
	Attention []attention.Item `json:"attention"`
	Next      string           `json:"next,omitempty"`
	Warnings  []string         `json:"warnings,omitempty" jsonschema:"what could not be read and is missing"`
}

// Dismissed is what was dismissed.
type Dismissed struct {
	Dismissed []string `json:"dismissed"`
}

func attentionRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/attention", id: "listAttention", tag: "attention", right: access.Read,
		summary: "List what a person should look at", about: "List what a person should look at, warnings first, with what to do about it. What is settled is gone from the list by itself.",
		params: []*param{pAll, pLimit, pCursor},
		status: http.StatusOK, answer: reflect.TypeFor[AttentionList](), serve: (*API).listAttention,
	}, {
		method: http.MethodPost, path: "/api/attention/{item}/dismiss", id: "dismiss", tag: "attention", right: access.Operate,
		summary: "Hide an item until something about it changes",
		about:   "Hide an item until something about it changes: it is another one then. The claims that it is about stay as they are.",
		status:  http.StatusOK, answer: reflect.TypeFor[Dismissed](), fails: []problemCode{codeNotFound}, serve: (*API).dismiss,
	}}
}

func (a *API) attention(ctx context.Context, s store.Engine, all bool) ([]attention.Item, []string, error) {
	items, err := attention.List(ctx, s, s.Shelf(), attention.Options{Now: a.o.Now(), All: all})
	warnings, err := missing(err)
	return items, warnings, err
}

func (a *API) listAttention(c *call) (*reply, error) {
	return c.withStore(func(s store.Engine) (*reply, error) {
		items, warnings, err := a.attention(c.ctx(), s, c.flag(pAll))
		if err != nil {
			return nil, err
		}
		out := AttentionList{Warnings: warnings}
		out.Attention, out.Next, err = page(c, items, func(i *attention.Item) place {
			p := place{at: i.At.UnixNano(), id: i.ID}
			if i.Severity != ken.SeverityWarning {
				p.rank = 1
			}
			return p
		})
		return &reply{body: out, next: out.Next}, err
	})
}

func (a *API) dismiss(c *call) (*reply, error) {
	id := c.path["item"]
	return c.withStore(func(s store.Engine) (*reply, error) {
		items, _, err := a.attention(c.ctx(), s, true)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(items, func(i attention.Item) bool { return i.ID == id }) {
			return nil, &ken.Error{Code: ken.CodeNotFound, Field: "item", Msg: "no such item",
				Try: "List them with GET /api/attention; an item whose claims have changed has another id."}
		}
		if err := attention.Dismiss(c.ctx(), s.Shelf(), id); err != nil {
			return nil, err
		}
		return &reply{body: Dismissed{[]string{id}}}, nil
	})
}
