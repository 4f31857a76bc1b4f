package api

import (
	"errors"
	"net/http"
	"reflect"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/store"
)

// AttentionList lists items for a person to look at, warnings first.
type AttentionList struct {
	Attention []attention.Item `json:"attention"`
	Next      string           `json:"next,omitempty"`
	Warnings  []string         `json:"warnings,omitempty" jsonschema:"what could not be read and is missing"`
}

// Dismissed names the item that was dismissed.
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
		about:   "Hide an item until something about it changes. The claims that it is about stay as they are.",
		status:  http.StatusOK, answer: reflect.TypeFor[Dismissed](), fails: []problemCode{codeNotFound}, serve: (*API).dismiss,
	}}
}

func (c *call) attention(s store.Engine, all bool) ([]attention.Item, []string, error) {
	items, unread, err := c.desk(s).Attention(c.ctx(), all)
	if err != nil {
		return nil, nil, err
	}
	warnings, err := warningsOf(unread)
	return items, warnings, err
}

func (a *API) listAttention(c *call) (*reply, error) {
	return c.withStore(func(s store.Engine) (*reply, error) {
		items, warnings, err := c.attention(s, c.flag(pAll))
		if err != nil {
			return nil, err
		}
		out := AttentionList{Warnings: warnings}
		out.Attention, out.Next, err = page(c, items, func(i *attention.Item) position {
			p := position{at: i.At.UnixNano(), id: i.ID}
			if i.Severity != attention.Warning {
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
		err := c.desk(s).Dismiss(c.ctx(), id)
		if errors.Is(err, ken.ErrNotFound) {
			err = &ken.Error{Code: ken.CodeNotFound, Field: "item", Msg: "no such item",
				Try: "List them with GET /api/attention; an item whose claims have changed has another id."}
		}
		if err != nil {
			return nil, err
		}
		return &reply{body: Dismissed{[]string{id}}}, nil
	})
}

// warningsOf converts errors about unreadable entries to warnings, because the rest of the list is
// valid. It returns any other error.
func warningsOf(err error) (warnings []string, other error) {
	if err == nil {
		return nil, nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			w, other := warningsOf(e)
			if other != nil {
				return nil, err
			}
			warnings = append(warnings, w...)
		}
		return warnings, nil
	}
	if e, ok := errors.AsType[*ken.Error](err); ok && e.Code == ken.CodeCorrupt {
		return []string{sentence(e)}, nil
	}
	return nil, err
}
