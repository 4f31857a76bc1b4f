package api

import (
	"context"
	"io"
	"net/http"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/store/jsonl"
)

func exportRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/export", id: "export", tag: "export", right: access.Operate, media: mediaLines,
		summary: "Write every claim as JSON lines",
		about: "Write every claim with its history, one JSON object a line, whatever its status and whether it has expired, by age. ken import " +
			"reads it back. Pieces of the repository are left out. Lines come as they are read; an answer that does not end properly was cut short.",
		params: []*param{pKind, pStatus, pScope}, status: http.StatusOK, serve: (*API).export,
	}}
}

// flushBytes is how much of an export is held back at most.
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
			if _, err := jsonl.Export(ctx, s, f, &flushing{w: w, flush: flush}, nil); err != nil {
				return err
			}
			flush()
			return nil
		},
	}, nil
}

// flushing hands on what was written every now and then.
type flushing struct {
	w     io.Writer
	flush func()
	held  int
}

func (f *flushing) Write(b []byte) (int, error) {
	n, err := f.w.Write(b)
	if f.held += n; f.held >= flushBytes {
		f.flush()
		f.held = 0
	}
	return n, err
}
