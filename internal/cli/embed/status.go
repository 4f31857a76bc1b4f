package embed

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *commands) embedStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show how many records have a vector, and which embedders are searched",
		Long: "Show which embedder is configured, how many records have its vector, and how searches run meanwhile. After a change of the " +
			"embedder, the old vectors are searched too, until all records have a new one; then they are deleted. " +
			"ken serve, ken mcp and ken index compute the vectors, and continue after an interruption.\n\n" +
			"While records lack a vector, the command watches for a second and estimates the time that is left.",
		Example: `  ken embed status
  ken embed status --json`,
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithStore(cmd.Context(), func(l *middleware.Layer, s store.Engine) error {
				return a.embedStatus(cmd.Context(), l, s, time.Second)
			})
		},
	}
}

type embedStatus struct {
	Model    string  `json:"model"`
	Embedded int     `json:"embedded"` // records with a vector of the model
	Total    int     `json:"total"`
	Standby  string  `json:"standby,omitempty"` // the second model that is searched
	Rate     float64 `json:"per_second"`        // records embedded per second
	Left     int     `json:"seconds_left"`      // estimated; -1 if no embedding is running
	Mode     string  `json:"mode"`              // mode of a search
	Cause    string  `json:"cause,omitempty"`   // why the mode is not hybrid
}

func (a *commands) embedStatus(ctx context.Context, l *middleware.Layer, s store.Engine, watch time.Duration) error {
	out := embedStatus{Model: l.Operator().Embedder().Model(), Standby: s.Standby()}
	mode, cause := l.Operator().Recaller(s, middleware.RecallQuery{}).Mode()
	out.Mode, out.Cause = string(mode), cause
	out.Embedded, out.Total = s.Coverage()
	if out.Embedded < out.Total {
		start, before := time.Now(), out.Embedded
		select {
		case <-time.After(watch):
		case <-ctx.Done():
			return ctx.Err()
		}
		out.Embedded, out.Total = s.Coverage()
		out.Rate = max(0, float64(out.Embedded-before)/time.Since(start).Seconds())
		out.Left = -1
		if out.Rate > 0 {
			out.Left = int(float64(out.Total-out.Embedded) / out.Rate)
		}
	}
	if a.JSON {
		return a.PrintJSON(out)
	}
	fmt.Fprintf(a.Out, "embedder  %s\n", out.Model)
	fmt.Fprintf(a.Out, "vectors   %d of %s\n", out.Embedded, cli.Count(out.Total, "record"))
	if out.Standby != "" {
		fmt.Fprintf(a.Out, "beside    %s, until all records have a vector\n", out.Standby)
	}
	switch {
	case out.Embedded >= out.Total:
	case out.Left >= 0:
		fmt.Fprintf(a.Out, "left      about %v, at %.0f a second\n", time.Duration(out.Left)*time.Second, out.Rate)
	default:
		fmt.Fprintln(a.Out, "left      nothing embeds at this moment; ken index does")
	}
	fmt.Fprintf(a.Out, "search    %s\n", out.Mode)
	if out.Cause != "" {
		fmt.Fprintf(a.Out, "because   %s\n", cli.Cell(out.Cause))
	}
	return nil
}
