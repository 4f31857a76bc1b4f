package api

import (
	"net/http"
	"reflect"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Stats counts an owner's knowledge, sessions and jobs.
type Stats struct {
	Seq       uint64         `json:"seq" jsonschema:"the number of the log's last event"`
	Claims    int            `json:"claims" jsonschema:"that are not forgotten, whatever their status"`
	Documents int            `json:"documents" jsonschema:"pieces of the repository"`
	Kinds     map[string]int `json:"kinds" jsonschema:"claims by kind"`
	Statuses  map[string]int `json:"statuses" jsonschema:"claims by status"`
	Coverage  Coverage       `json:"coverage"`
	Mode      ken.Mode       `json:"mode" jsonschema:"how a search runs now"`
	Cause     string         `json:"cause" jsonschema:"why that is less than hybrid"`
	Embedder  string         `json:"embedder,omitempty" jsonschema:"the model of the vectors"`
	Sessions  map[string]int `json:"sessions" jsonschema:"by state"`
	Jobs      map[string]int `json:"jobs" jsonschema:"by state"`
	Attention int            `json:"attention" jsonschema:"what a person should look at"`
	Warnings  []string       `json:"warnings,omitempty" jsonschema:"what could not be read and is missing"`
}

// Coverage counts the records that have a vector of the current embedder.
type Coverage struct {
	Embedded int `json:"embedded"`
	Total    int `json:"total"`
}

func statsRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/stats", id: "getStats", tag: "stats", right: access.Read,
		summary: "Count what there is", about: "Count claims, sessions, jobs and what needs attention, and say how a search runs now.",
		status: http.StatusOK, answer: reflect.TypeFor[Stats](), serve: (*API).stats,
	}}
}

func (a *API) stats(c *call) (*reply, error) {
	return c.withStore(func(s store.Engine) (*reply, error) {
		out := Stats{Sessions: map[string]int{}, Jobs: map[string]int{}}
		n, err := a.countsOf(c, s)
		if err != nil {
			return nil, err
		}
		out.Seq, out.Kinds, out.Statuses, out.Claims = n.seq, n.kinds, n.statuses, n.claims
		out.Documents = max(s.Len()-n.claims, 0)
		out.Coverage.Embedded, out.Coverage.Total = s.Coverage()
		out.Mode, out.Cause = a.l.Operator().Recaller(s, middleware.RecallQuery{}).Mode()
		if e := s.Embedder(); e != nil {
			out.Embedder = e.Model()
		}
		infos, err := a.l.Operator().Journal(c.who.Owner).List(c.ctx())
		if out.Warnings, err = warningsOf(err); err != nil {
			return nil, err
		}
		for _, st := range []session.State{session.Open, session.Ended, session.Harvested, session.Failed} {
			out.Sessions[string(st)] = 0
		}
		for i := range infos {
			out.Sessions[string(infos[i].State)]++
		}
		list, err := a.l.Operator().Jobs(c.who.Owner).List(c.ctx())
		warnings, err := warningsOf(err)
		if err != nil {
			return nil, err
		}
		for _, st := range []jobs.State{jobs.Queued, jobs.Running, jobs.Done, jobs.Dead} {
			out.Jobs[string(st)] = 0
		}
		for i := range list {
			out.Jobs[string(list[i].State)]++
		}
		items, more, err := c.attention(s, false)
		if err != nil {
			return nil, err
		}
		out.Attention, out.Warnings = len(items), append(append(out.Warnings, warnings...), more...)
		return &reply{body: out}, nil
	})
}

// ownerCounts holds the counts of one owner, until the owner's log grows. It is immutable.
type ownerCounts struct {
	seq             uint64
	claims          int
	kinds, statuses map[string]int
}

func (a *API) countsOf(c *call, s store.Engine) (*ownerCounts, error) {
	seq := s.Seq()
	if had, ok := a.counts.Get(c.who.Owner); ok && had.seq == seq {
		return had, nil
	}
	n := &ownerCounts{seq: seq, kinds: map[string]int{}, statuses: map[string]int{}}
	res, err := s.Newest(c.ctx(), &ken.Filter{Statuses: ken.Statuses(), Structural: true, ClaimsOnly: true}, s.Refs()+1)
	if err != nil {
		return nil, err
	}
	for _, h := range res.Hits {
		if row, ok := s.Row(h.Ref); ok {
			n.claims++
			n.kinds[string(row.Facts.Kind)]++
			n.statuses[string(row.Facts.Status)]++
		}
	}
	a.counts.Put(c.who.Owner, n)
	return n, nil
}

// UsageList lists the usage of keys, the latest day first.
type UsageList struct {
	Usage    []usage.Row `json:"usage"`
	Warnings []string    `json:"warnings,omitempty" jsonschema:"what could not be read and is missing"`
}

// maxDays is the maximum number of days of usage in an answer.
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
	out.Warnings, err = warningsOf(err)
	out.Usage = append(out.Usage, slices.DeleteFunc(rows, func(r usage.Row) bool {
		return !usage.Visible(&r, c.who, a.l.Config().Knowledge.Owner)
	})...)
	return &reply{body: out}, err
}

func aboutRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/openapi.json", id: "getDescription", tag: "about",
		summary: "Read this description", about: "Read the OpenAPI description of these routes. It needs no right.",
		status: http.StatusOK, hasETag: true, serve: (*API).description,
	}, {
		method: http.MethodGet, path: "/api/problems/{code}", id: "getProblem", tag: "about",
		summary: "Read what a problem means", about: "Read what a problem's type means. It needs no right.",
		status: http.StatusOK, answer: reflect.TypeFor[ProblemType](), fails: []problemCode{codeNotFound}, serve: (*API).problem,
	}}
}

func (a *API) description(*call) (*reply, error) {
	body, err := Description()
	// It is the same for all callers and contains no owner's data.
	return &reply{raw: body, etag: described.tag, header: map[string]string{"Cache-Control": "no-cache"}}, err
}

func (a *API) problem(c *call) (*reply, error) {
	t, ok := typeOf(problemCode(c.path["code"]))
	if !ok {
		return nil, problemf(codeNotFound, "no problem is called %q", printable(c.path["code"], 60))
	}
	return &reply{body: t}, nil
}
