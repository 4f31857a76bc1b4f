package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/store/jsonl"
)

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
	for _, s := range c.values(pJobState) {
		states = append(states, jobs.State(s))
	}
	all, err := a.l.Operator().Jobs(c.who.Owner).List(c.ctx(), states...)
	out := JobList{}
	if out.Warnings, err = warningsOf(err); err != nil {
		return nil, err
	}
	out.Jobs, out.Next, err = page(c, all, func(j *jobs.Job) position { return position{at: j.Created.UnixNano(), id: j.ID} })
	return &reply{body: out, next: out.Next}, err
}

// job returns a job by its complete id.
func (a *API) job(c *call) (jobs.Job, error) {
	id := c.path["job"]
	j, err := a.l.Operator().Jobs(c.who.Owner).Get(c.ctx(), id)
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
	j, err = a.l.Operator().Jobs(c.who.Owner).Retry(c.ctx(), j.ID)
	return &reply{body: j}, err
}

func exportRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/export", id: "export", tag: "export", right: access.Operate, media: mediaLines,
		summary: "Write every claim as JSON lines",
		about: "Write every claim with its history, one JSON object a line, whatever its status and whether it has expired, by age. ken import " +
			"reads it back. Pieces of the repository are left out. Lines come as they are read; an answer that does not end properly was cut short.",
		params: []*param{pKind, pStatus, pScope}, status: http.StatusOK, serve: (*API).export,
	}}
}

// flushBytes is the maximum number of bytes of an export that are buffered.
const flushBytes = 32 << 10

func (a *API) export(c *call) (*reply, error) {
	f, err := c.filter()
	if err != nil {
		return nil, err
	}
	return &reply{
		header: map[string]string{"Content-Disposition": `attachment; filename="claims.jsonl"`},
		stream: func(ctx context.Context, w io.Writer, flush func()) error {
			s, release, err := c.store()
			if err != nil {
				return err
			}
			defer release()
			if _, err := jsonl.Export(ctx, s, f, &flushingWriter{w: w, flush: flush}, nil); err != nil {
				return err
			}
			flush()
			return nil
		},
	}, nil
}

// flushingWriter flushes after every flushBytes.
type flushingWriter struct {
	w     io.Writer
	flush func()
	held  int
}

func (f *flushingWriter) Write(b []byte) (int, error) {
	n, err := f.w.Write(b)
	if f.held += n; f.held >= flushBytes {
		f.flush()
		f.held = 0
	}
	return n, err
}
