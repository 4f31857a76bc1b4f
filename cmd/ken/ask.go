package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/sashabaranov/go-openai"
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store/bolt"
)

func (a *app) askCommand() *cobra.Command {
	var o askOptions
	cmd := &cobra.Command{
		Use:   "ask [QUESTION|-]",
		Short: "Show what an agent would be told for a question, and ask the model if there is one",
		Long: "Index the project, compose the block that an agent would get with this question, and print it with a table " +
			"of what was found, by which leg, and what was cut and why. With upstream.base_url configured, the model is then " +
			"asked with that block, and its answer is streamed. --json prints the receipt as one object and asks no model.",
		Example: `  ken ask "how does the circuit breaker recover?"
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
	f.StringVar(&o.weight, "weight", "", "how deep to retrieve: none, low, default or high")
	return cmd
}

type askOptions struct {
	noIndex, noModel, all bool
	weight                string
}

func (a *app) ask(ctx context.Context, question string, o askOptions) error {
	t := ken.Turn{Owner: a.owner, Messages: []ken.Message{{Role: "user", Text: question}}}
	if o.weight != "" {
		if err := t.Weight.UnmarshalText([]byte(o.weight)); err != nil {
			return usage{err}
		}
	}
	p := a.progress()
	defer p.done()
	l, err := a.layer(ctx, p, func(o *middleware.Options) { o.CountTokens = true })
	if err != nil {
		return err
	}
	return errors.Join(a.askLayer(ctx, l, p, t, o), l.Close())
}

func (a *app) askLayer(ctx context.Context, l *middleware.Layer, p *progress, t ken.Turn, o askOptions) error {
	if !o.noIndex {
		if _, err := l.Refresh(ctx, a.owner); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			// A turn goes on with what there is, and so does the question.
			fmt.Fprintf(a.err, "ken: %v\n", err)
		}
	}
	p.done()
	got := l.Assemble(ctx, t)
	if a.json {
		return a.printJSON(got.Receipt)
	}
	s, release, err := l.Store(ctx, a.owner)
	if err != nil {
		return err
	}
	a.printReceipt(got.Receipt, nameOf(ctx, s), o.all)
	release()
	cfg := l.Config()
	if o.noModel || cfg.Upstream.BaseURL == "" {
		return nil
	}
	fmt.Fprintln(a.out)
	var messages []openai.ChatCompletionMessage
	for _, ins := range got.Insertions {
		messages = append(messages, openai.ChatCompletionMessage{Role: "user", Content: ins.Text})
	}
	messages = append(messages, openai.ChatCompletionMessage{Role: "user", Content: t.Messages[0].Text})
	_, err = stream(ctx, newUpstream(cfg), openai.ChatCompletionRequest{Model: cfg.Upstream.Model, Messages: messages}, a.out)
	return err
}

// nameOf looks up what a cut record is called; only its id is in a receipt.
func nameOf(ctx context.Context, s *bolt.Store) func(id string) string {
	return func(id string) string {
		c, err := s.Get(ctx, id)
		if err != nil {
			return ""
		}
		if c.Heading != "" {
			return c.Heading
		}
		return c.Text
	}
}
