package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/sashabaranov/go-openai"
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/middleware/goopenai"
)

// askOptions are ask's flags.
type askOptions struct {
	noIndex, noModel, all bool
	model                 string
	weight                string
}

func (a *app) askCommand() *cobra.Command {
	var o askOptions
	cmd := &cobra.Command{
		Use:   "ask [QUESTION|-]",
		Short: "Show what an agent would be told for a question, and ask the model if there is one",
		Long: "Index the project, compose the block that an agent would get with this question, and print it with a table of " +
			"what was found, by which leg at which rank, and what was cut and why. With upstream.base_url configured, the model " +
			"is then asked with that block, and its answer is streamed.\n\n" +
			"--json prints the receipt as one object and asks no model.",
		Example: `  ken ask "how are payments retried?"
  git diff | ken ask --json -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			question, err := a.text(args)
			if err != nil {
				return err
			}
			return a.ask(cmd.Context(), question, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.noIndex, "no-index", false, "use what is indexed already")
	f.BoolVar(&o.noModel, "no-model", false, "print the block and the table only")
	f.BoolVar(&o.all, "all", false, "list everything that was cut")
	f.StringVar(&o.model, "model", "", "the `model` to ask; default from the configuration")
	f.StringVar(&o.weight, "weight", "", "the `depth` of the search: none, low, default or high; default from the configuration")
	return cmd
}

func (a *app) ask(ctx context.Context, question string, o askOptions) error {
	turn := ken.Turn{Owner: a.owner}
	if o.weight != "" {
		if err := turn.Weight.UnmarshalText([]byte(o.weight)); err != nil {
			return usage{err}
		}
	}
	if !o.noIndex {
		if err := a.mayRead(); err != nil {
			return err
		}
	}
	p := a.progress()
	defer p.done()
	// The receipt is shown as soon as it is there, while the model thinks.
	var l *middleware.Layer
	var u *upstream
	var shown error
	l, err := a.layer(ctx, p, func(lo *middleware.Options) {
		lo.CountTokens = true
		lo.OnReceipt = func(ctx context.Context, r ken.Receipt) {
			shown = a.showReceipt(ctx, l, r, o.all)
			if u != nil {
				fmt.Fprintln(a.out)
			}
		}
	})
	if err != nil {
		return err
	}
	if cfg := l.Config().Upstream; cfg.BaseURL != "" && !o.noModel && !a.json {
		u = newUpstream(cfg, o.model)
	}
	if !o.noIndex {
		err = a.refresh(ctx, l, p)
	}
	if err == nil {
		err = a.askLayer(ctx, l, u, turn, question)
	}
	return errors.Join(err, shown, l.Close())
}

// refresh brings the layer up to date. It fails only when ctx ends: a turn goes
// on with what there is.
func (a *app) refresh(ctx context.Context, l *middleware.Layer, p *progress) error {
	_, err := l.Refresh(ctx, a.owner)
	p.done()
	if err != nil && ctx.Err() == nil {
		a.fail(err)
	}
	return ctx.Err()
}

// askLayer assembles the question's turn, and asks the model if there is one.
func (a *app) askLayer(ctx context.Context, l *middleware.Layer, u *upstream, t ken.Turn, question string) error {
	if u == nil {
		t.Messages = []ken.Message{{Role: openai.ChatMessageRoleUser, Text: question}}
		l.Assemble(ctx, t)
		return ctx.Err()
	}
	messages := []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: question}}
	_, err := u.stream(ctx, goopenai.Wrap(l, u.client, t), messages, a.out)
	return err
}
