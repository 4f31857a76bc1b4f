package api

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Stats is what an owner has.
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

// Coverage is how many records have a vector of the present model.
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
		n, err := a.counts.of(c, s)
		if err != nil {
			return nil, err
		}
		out.Seq, out.Kinds, out.Statuses, out.Claims = n.seq, n.kinds, n.statuses, n.claims
		out.Documents = max(s.Len()-n.claims, 0)
		out.Coverage.Embedded, out.Coverage.Total = s.Coverage()
		out.Mode, out.Cause = a.l.Recaller(s, middleware.RecallQuery{}).Mode()
		if e := s.Embedder(); e != nil {
			out.Embedder = e.Model()
		}
		infos, err := a.l.Journal(c.who.Owner).List(c.ctx())
		if out.Warnings, err = missing(err); err != nil {
			return nil, err
		}
		for _, st := range []session.State{session.Open, session.Ended, session.Harvested, session.Failed} {
			out.Sessions[string(st)] = 0
		}
		for i := range infos {
			out.Sessions[string(infos[i].State)]++
		}
		list, err := a.l.Jobs(c.who.Owner).List(c.ctx())
		warnings, err := missing(err)
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

// counts remembers what was counted in a log that has not grown since.
type counts struct {
	mu sync.Mutex
	by map[string]*counted // by owner
}

// counted is not changed once it is there.
type counted struct {
	seq             uint64
	claims          int
	kinds, statuses map[string]int
}

func (k *counts) of(c *call, s store.Engine) (*counted, error) {
	seq := s.Seq()
	k.mu.Lock()
	had := k.by[c.who.Owner]
	k.mu.Unlock()
	if had != nil && had.seq == seq {
		return had, nil
	}
	n := &counted{seq: seq, kinds: map[string]int{}, statuses: map[string]int{}}
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
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.by == nil || len(k.by) >= maxCounted {
		k.by = map[string]*counted{}
	}
	k.by[c.who.Owner] = n
	return n, nil
}

// maxCounted bounds how many owners' counts are remembered.
const maxCounted = 256

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

// JobList is a page of jobs, the last added first.
type JobList struct {
	Jobs     []jobs.Job `json:"jobs"`
	Next     string     `json:"next,omitempty"`
	Warnings []string   `json:"warnings,omitempty" jsonschema:"what could not be read and is missing"`
}

func jobRoutes() []*route {
	job := reflect.TypeFor[jobs.Job]()
	return []*route{{
		method: http.MethodGet, path: "/api/jobs", id: "listJobs", tag: "jobs", right: access.Operate,
		summary: "List the jobs of the background", about: "List jobs, the last added first: what waits, what runs, what was done, and what is dead, with the reason.",
		params: []*param{pJobState, pLimit, pCursor},
		status: http.StatusOK, answer: reflect.TypeFor[JobList](), serve: (*API).listJobs,
	}, {
		method: http.MethodGet, path: "/api/jobs/{job}", id: "getJob", tag: "jobs", right: access.Operate,
		summary: "Read a job", about: "Read one job, with how far it is or what came of it.",
		status: http.StatusOK, answer: job, fails: []problemCode{codeNotFound}, serve: (*API).getJob,
	}, {
		method: http.MethodPost, path: "/api/jobs/{job}/retry", id: "retryJob", tag: "jobs", right: access.Operate,
		summary: "Run a dead or waiting job again", about: "Make a job that is dead or waits for its time due now, with all its attempts before it. The background runs it.",
		status: http.StatusAccepted, answer: job, fails: []problemCode{codeNotFound, codeRefused}, serve: (*API).retryJob,
	}}
}

func (a *API) listJobs(c *call) (*reply, error) {
	var states []jobs.State
	for _, s := range c.all(pJobState) {
		states = append(states, jobs.State(s))
	}
	all, err := a.l.Jobs(c.who.Owner).List(c.ctx(), states...)
	out := JobList{}
	if out.Warnings, err = missing(err); err != nil {
		return nil, err
	}
	out.Jobs, out.Next, err = page(c, all, func(j *jobs.Job) place { return place{at: j.Created.UnixNano(), id: j.ID} })
	return &reply{body: out, next: out.Next}, err
}

// job reads a job by its whole id.
func (a *API) job(c *call) (jobs.Job, error) {
	id := c.path["job"]
	j, err := a.l.Jobs(c.who.Owner).Get(c.ctx(), id)
	if errors.Is(err, ken.ErrNotFound) || errors.Is(err, ken.ErrInvalid) || err == nil && j.ID != id {
		err = &ken.Error{Code: ken.CodeNotFound, Field: "job", Msg: "no such job", Try: "List them with GET /api/jobs."}
	}
	return j, err
}

func (a *API) getJob(c *call) (*reply, error) {
	j, err := a.job(c)
	return &reply{body: j}, err
}

func (a *API) retryJob(c *call) (*reply, error) {
	j, err := a.job(c)
	if err != nil {
		return nil, err
	}
	j, err = a.l.Jobs(c.who.Owner).Retry(c.ctx(), j.ID)
	return &reply{body: j}, err
}

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

func (c *call) attention(s store.Engine, all bool) ([]attention.Item, []string, error) {
	items, unread, err := c.desk(s).Attention(c.ctx(), all)
	if err != nil {
		return nil, nil, err
	}
	warnings, err := missing(unread)
	return items, warnings, err
}

func (a *API) listAttention(c *call) (*reply, error) {
	return c.withStore(func(s store.Engine) (*reply, error) {
		items, warnings, err := c.attention(s, c.flag(pAll))
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
