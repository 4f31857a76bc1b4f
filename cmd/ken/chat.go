package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/google/uuid"
	"github.com/sashabaranov/go-openai"
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/middleware/goopenai"
)

func (a *app) chatCommand() *cobra.Command {
	var system, model string
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Chat with the configured model, every turn assembled by the layer",
		Long: "A chat loop against any OpenAI-compatible endpoint (upstream.base_url). Each turn carries what Ken knows.\n\n" +
			"/why   the receipt of the last turn\n/new   a new conversation\n/quit  leave (also Ctrl-D)\n\n" +
			"Ctrl-C stops the answer, not the chat. Without a terminal, each line of standard input is a turn.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.chat(cmd.Context(), system, model) },
	}
	cmd.Flags().StringVar(&system, "system", "", "the system prompt")
	cmd.Flags().StringVar(&model, "model", "", "the model; default from the configuration")
	return cmd
}

// conversation is one chat and what it has said so far.
type conversation struct {
	a        *app
	layer    *middleware.Layer
	client   *goopenai.Wrapped
	model    string
	system   string
	messages []openai.ChatCompletionMessage
	last     atomic.Pointer[ken.Receipt]
}

func (a *app) chat(ctx context.Context, system, model string) error {
	// Ctrl-C belongs to the answer that is running, so the context that main
	// cancels with it is left behind.
	ctx, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	p := a.progress()
	defer p.done()
	c := &conversation{a: a, system: system, model: model}
	l, err := a.layer(ctx, p, func(o *middleware.Options) {
		o.Strict = false
		o.OnReceipt = func(_ context.Context, r ken.Receipt) { c.last.Store(&r) }
	})
	if err != nil {
		return err
	}
	cfg := l.Config()
	if cfg.Upstream.BaseURL == "" {
		return errors.Join(&ken.Error{Code: ken.CodeInvalid, Field: "upstream.base_url", Msg: "empty: there is no model to chat with",
			Try: "Run ken init and set upstream.base_url, for instance to http://localhost:11434/v1 for Ollama."}, l.Close())
	}
	if c.model == "" {
		c.model = cfg.Upstream.Model
	}
	if _, err := l.Refresh(ctx, a.owner); err != nil {
		fmt.Fprintf(a.err, "ken: %v\n", err)
	}
	p.done()
	c.layer = l
	c.reset(newUpstream(cfg))
	lines, err := a.lines(filepath.Join(l.Root(), cfg.Knowledge.DBPath, "chat_history"))
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return errors.Join(c.loop(ctx, lines), lines.close(), l.Close())
}

// reset starts a new conversation, and with it a new session.
func (c *conversation) reset(up *openai.Client) {
	c.messages = nil
	if c.system != "" {
		c.messages = append(c.messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: c.system})
	}
	c.client = goopenai.Wrap(c.layer, up, ken.Turn{Owner: c.a.owner, Session: uuid.NewString(), Agent: "ken chat"})
	c.last.Store(nil)
}

func (c *conversation) loop(ctx context.Context, lines lineReader) error {
	for {
		line, err := lines.read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch line = strings.TrimSpace(line); line {
		case "":
		case "/quit", "/exit":
			return nil
		case "/new":
			c.reset(newUpstream(c.layer.Config()))
			fmt.Fprintln(c.a.out, "a new conversation")
		case "/why":
			c.why()
		default:
			if strings.HasPrefix(line, "/") && !strings.ContainsAny(line, " /"[1:]+" ") {
				fmt.Fprintln(c.a.out, "commands: /why /new /quit")
				continue
			}
			if err := c.turn(ctx, line); err != nil {
				c.a.fail(err) // told; the chat goes on
			}
		}
	}
}

func (c *conversation) why() {
	r := c.last.Load()
	if r == nil {
		fmt.Fprintln(c.a.out, "there was no turn yet")
		return
	}
	if c.a.json {
		_ = c.a.printJSON(r) // a terminal that is gone ends the loop at its next read
		return
	}
	c.a.printReceipt(*r, nil, false)
}

// turn asks the model and streams its answer; an interrupt ends the answer, and
// what came of it stays in the conversation.
func (c *conversation) turn(ctx context.Context, text string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	c.messages = append(c.messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: text})
	answer, err := stream(ctx, c.client, openai.ChatCompletionRequest{Model: c.model, Messages: c.messages}, c.a.out)
	if answer == "" {
		c.messages = c.messages[:len(c.messages)-1]
	} else {
		c.messages = append(c.messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: answer})
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(c.a.out, "\n(stopped)")
		return nil
	}
	return err
}
