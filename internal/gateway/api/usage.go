package api

import (
	"net/http"
	"reflect"
	"slices"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// UsageList lists the usage of the keys, the last day first.
type UsageList struct {
	Usage    []usage.Row `json:"usage"`
	Warnings []string    `json:"warnings,omitempty" jsonschema:"what could not be read and is missing"`
}

// maxDays bounds how far back usage is told.
const maxDays = 366

func usageRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/usage", id: "listUsage", tag: "usage", right: access.Read,
		summary: "List what keys have used",
		about: "List requests, tokens and cost by day, key, owner and model, the last day first. A key sees its own usage; with the right operate, " +
			"that of its owner's keys; and as a key of the configured owner with that right, all.",
		params: []*param{pDays},
		status: http.StatusOK, answer: reflect.TypeFor[UsageList](), serve: (*API).listUsage,
	}}
}

func (a *API) listUsage(c *call) (*reply, error) {
	out := UsageList{Usage: []usage.Row{}}
	if a.o.Usage == nil {
		return &reply{body: out}, nil
	}
	rows, err := a.o.Usage.Rows(c.number(pDays))
	out.Warnings, err = missing(err)
	out.Usage = append(out.Usage, slices.DeleteFunc(rows, func(r usage.Row) bool {
		return !usage.Visible(&r, c.who, a.l.Config().Knowledge.Owner)
	})...)
	return &reply{body: out}, err
}
