package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sashabaranov/go-openai"
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/middleware"
)

// finding is what one check of the doctor found.
type finding struct {
	Check  string `json:"check"`
	State  string `json:"state"` // ok, warn or fail
	Detail string `json:"detail"`
	Try    string `json:"try,omitempty"`
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check configuration, store, embedder and model, and say what to do",
		Long:  "Look at everything that Ken depends on here and now. The exit status is 1 if a check fails; a warning is something that Ken works without.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := a.examine(cmd.Context())
			if a.json {
				if err := a.printJSON(map[string]any{"checks": found}); err != nil {
					return err
				}
			} else {
				a.printFindings(found)
			}
			if slices.ContainsFunc(found, func(f finding) bool { return f.State == "fail" }) {
				return errTold
			}
			return nil
		},
	}
}

func (a *app) printFindings(found []finding) {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, f := range found {
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.State, f.Check, f.Detail)
		if f.Try != "" {
			fmt.Fprintf(w, "\t\tTry: %s\n", f.Try)
		}
	}
	w.Flush()
}

func ok(check, format string, args ...any) finding {
	return finding{check, "ok", fmt.Sprintf(format, args...), ""}
}

func failed(check string, err error) finding {
	return finding{check, "fail", err.Error(), cmp.Or(ken.Hint(err), "See the message.")}
}

// checkTimeout bounds each question to a service.
const checkTimeout = 5 * time.Second

func (a *app) examine(ctx context.Context) []finding {
	var out []finding
	root, err := a.project()
	if err != nil {
		return append(out, failed("project", err))
	}
	out = append(out, ok("project", "%s", root))
	cfg, path, err := a.configuration()
	if err != nil {
		return append(out, failed("configuration", err))
	}
	out = append(out, ok("configuration", "%s", cmp.Or(path, "defaults: there is no file")))
	if _, err := exec.LookPath("git"); err != nil {
		out = append(out, finding{"git", "warn", "not installed: no history is indexed", "Install git."})
	}
	p := a.progress()
	defer p.done()
	l, err := a.layer(ctx, p)
	if err != nil {
		return append(out, failed("store", err))
	}
	out = append(out, a.examineStore(ctx, l), examineEmbedder(ctx, l), examineUpstream(ctx, cfg))
	if err := l.Close(); err != nil {
		out = append(out, failed("store", err))
	}
	return out
}

func (a *app) examineStore(ctx context.Context, l *middleware.Layer) finding {
	s, release, err := l.Store(ctx, a.owner)
	if err != nil {
		return failed("store", err)
	}
	defer release()
	report, err := s.VerifyLog(ctx)
	if err != nil {
		return failed("store", err)
	}
	docs, err := s.DocumentHashes(ctx)
	if err != nil {
		return failed("store", err)
	}
	return ok("store", "owner %s: %d records from %d events and %d documents; the log verifies", s.Owner(), s.Len(), report.Events, len(docs))
}

func examineEmbedder(ctx context.Context, l *middleware.Layer) finding {
	const check = "embedder"
	ctx, stop := context.WithTimeout(ctx, checkTimeout)
	defer stop()
	start := time.Now()
	vecs, err := l.Embedder().Embed(ctx, []string{"ken doctor asks for a vector"})
	switch {
	case errors.Is(err, embed.ErrOff):
		return finding{check, "warn", "none: search is by words alone", ken.Hint(err)}
	case err != nil:
		return failed(check, err)
	case len(vecs) != 1 || vecs[0] == nil:
		return finding{check, "fail", "the model knows none of five plain English words", "Check knowledge.embed_path."}
	}
	return ok(check, "%s answers with %d dimensions in %s", l.Embedder().Model(), len(vecs[0]), time.Since(start).Round(10*time.Microsecond))
}

func examineUpstream(ctx context.Context, c config.Config) finding {
	const check = "model"
	if c.Upstream.BaseURL == "" {
		return finding{check, "warn", "none: ken ask prints the block, ken chat has nobody to talk to",
			"Set upstream.base_url and upstream.model in .ken/config.yaml; ken init writes one."}
	}
	ctx, stop := context.WithTimeout(ctx, checkTimeout)
	defer stop()
	list, err := newUpstream(c).ListModels(ctx)
	if err != nil {
		var api *openai.APIError
		if errors.As(err, &api) && api.HTTPStatusCode == http.StatusNotFound {
			return finding{check, "warn", c.Upstream.BaseURL + " does not list its models", ""}
		}
		return failed(check, upstreamError(ctx, err))
	}
	var ids []string
	for _, m := range list.Models {
		ids = append(ids, m.ID)
	}
	if !slices.Contains(ids, c.Upstream.Model) {
		return finding{check, "fail", fmt.Sprintf("%s does not serve %s", c.Upstream.BaseURL, c.Upstream.Model),
			"Set upstream.model to one of " + strings.Join(ids[:min(len(ids), 10)], ", ") + "."}
	}
	return ok(check, "%s serves %s", c.Upstream.BaseURL, c.Upstream.Model)
}
