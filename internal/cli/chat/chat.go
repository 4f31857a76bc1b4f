// Package chat provides the commands that talk to a model: ask and chat.
package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/google/uuid"
	"github.com/sashabaranov/go-openai"
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/middleware/goopenai"
	"github.com/kenlayer/ken/tools"
)

type commands struct{ *cli.App }

// Commands returns the commands of this group.
func Commands(app *cli.App) []*cobra.Command {
	c := &commands{app}
	return []*cobra.Command{c.askCommand(), c.chatCommand()}
}

const chatHelp = `/why            the receipt of the last turn: what the model was told, and why
/remember TEXT  keep a text in every turn from now on, in later chats as well
/forget         learn nothing from this conversation, and begin another
/new            end this conversation, and begin another with the project as it is now
/help           this list
/quit           leave; so does Ctrl-D`

type chatOptions struct {
	system, model, tools string
	noTools              bool
}

func (a *commands) chatCommand() *cobra.Command {
	var o chatOptions
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Chat with the configured model, every turn assembled by the layer",
		Example: `  ken chat
  ken chat --model gpt-4o-mini --no-tools`,
		Long: "Chat with a model behind any OpenAI-compatible endpoint (upstream.base_url). Each turn carries what Ken knows. " +
			"The arrow keys bring back earlier messages, pasted text is one message, and Ctrl-C stops the answer, " +
			"not the chat.\n\n" +
			"When a conversation ends, Ken stores what it learned, and prints a summary; ken sessions shows the details. Ctrl-C skips that: the next " +
			"chat does it when it starts, or run ken harvest.\n\n" +
			"The model may search what Ken knows, learn, and ask why something was injected, by calling tools; each call is shown. " +
			"--tools chooses which (" + cli.ProfileNames() + "); --no-tools is for a model without tool support.\n\n" + chatHelp + "\n\n" +
			"Without a terminal, each line of standard input is a turn, and Ctrl-C ends the chat.",
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.chat(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.system, "system", "", "a system `PROMPT`")
	cmd.Flags().StringVar(&o.tools, "tools", "", "the tools that are offered: `NAMES` of profiles and tools, separated by commas; default tools.profile")
	cmd.Flags().BoolVar(&o.noTools, "no-tools", false, "offer the model no tools")
	cmd.Flags().StringVar(&o.model, "model", "", "the `MODEL` to chat with; default from the configuration")
	return cmd
}

func (a *commands) chat(ctx context.Context, o chatOptions) error {
	r, err := a.Configuration()
	if err != nil {
		return err
	}
	cfg := r.Config
	if cfg.Upstream.BaseURL == "" {
		return &ken.Error{Code: ken.CodeInvalid, Field: "upstream.base_url", Msg: "empty: there is no model to chat with",
			Try: "Set upstream.base_url in " + cli.UserConfigName() + ", for instance to http://localhost:11434/v1 for Ollama."}
	}
	offer, err := cli.ToolNames(o.tools, cfg)
	if err != nil {
		return err
	}
	if err := a.ConfirmReading(ctx); err != nil {
		return err
	}
	p := a.Progress()
	defer p.Done()
	c := &conversation{a: a, upstream: cli.NewModel(cfg.Upstream, o.model), system: o.system, offer: offer, progress: p}
	cfg.Knowledge.TrustUserUnlessSet()
	l, err := a.Layer(ctx, p, func(lo *middleware.Options) {
		lo.Config, lo.Strict = &cfg, false
		lo.OnReceipt = func(_ context.Context, r ken.Receipt) { c.last = &r }
	})
	if err != nil {
		return err
	}
	c.layer = l
	if !o.noTools {
		c.tools = tools.New(l, func(to *tools.Options) { to.Log = a.Logger() })
	}
	if err := c.refresh(ctx); err != nil {
		return errors.Join(err, l.Close())
	}
	c.reset()
	lines, person := a.LineReader(filepath.Join(cfg.State(l.Root()), "chat_history"))
	c.person = person
	if person {
		// At the prompt, Ctrl-C goes to the editor, and otherwise to the running
		// step. It must not end the chat, although main cancels ctx with it.
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
	}
	err = c.catchUp(ctx)
	if err == nil {
		err = c.loop(ctx, lines)
	}
	return errors.Join(err, lines.Close(), l.Close())
}

// conversation holds one chat: its messages so far, the layer and the model.
type conversation struct {
	a        *commands
	layer    *middleware.Layer
	upstream *cli.Model
	system   string
	progress *cli.Progress // shows the layer's long work
	person   bool          // the input is a terminal
	stored   bool          // there is a store

	tools   *tools.Registry // nil offers none
	offer   []string        // names of the offered tools
	noTools bool            // the model does not support tools

	who      ken.Turn // session, owner and agent of every turn
	client   *goopenai.Wrapped
	messages []openai.ChatCompletionMessage
	last     *ken.Receipt // of the last turn
	said     bool         // a message was sent in this conversation
	failed   bool         // a turn of any conversation failed
}

// reset starts a new conversation with a new session.
func (c *conversation) reset() {
	c.messages, c.last, c.said = nil, nil, false
	if c.system != "" {
		c.messages = append(c.messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: c.system})
	}
	c.who = ken.Turn{Owner: c.a.Owner, Session: uuid.NewString(), Agent: "ken chat", Model: c.upstream.Name}
	c.client = goopenai.Wrap(c.layer, c.upstream.Client, c.who)
}

// refresh updates the layer. If there is no store, the layer has already reported
// it, and the chat continues without one.
func (c *conversation) refresh(ctx context.Context) error {
	_, release, err := c.layer.Store(ctx, c.a.Owner)
	if c.stored = err == nil; err != nil {
		return ctx.Err()
	}
	defer release()
	return c.a.Refresh(ctx, c.layer, c.progress)
}

// loop reads messages and answers them until the input ends, /quit comes, or ctx
// ends.
func (c *conversation) loop(ctx context.Context, lines cli.LineReader) error {
	for {
		line, err := lines.Read(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return c.end(ctx)
		case err != nil:
			return err
		}
		switch line = strings.TrimSpace(line); line {
		case "":
			continue
		case "/quit":
			return c.end(ctx)
		}
		err = c.step(ctx, line)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.failed = true
			c.a.Report(err) // reported; the chat continues
		}
	}
}

// step runs a command or answers a message. The user's Ctrl-C ends only the step.
func (c *conversation) step(ctx context.Context, line string) error {
	step, stop := c.interruptible(ctx)
	defer stop()
	do := c.turn
	if isCommand(line) {
		do = c.command
	}
	err := do(step, line)
	if step.Err() != nil && ctx.Err() == nil {
		fmt.Fprintln(c.a.Err, "(stopped)")
		return nil
	}
	return err
}

// end ends the conversation. For a chat without a terminal it returns an error if a
// turn failed.
func (c *conversation) end(ctx context.Context) error {
	c.finish(ctx)
	if ctx.Err() == nil && c.failed && !c.person {
		return cli.ErrReported
	}
	return ctx.Err()
}

// isCommand reports whether a line is a command. A message may begin with a path.
func isCommand(line string) bool {
	word, _, _ := strings.Cut(line, " ")
	return strings.LastIndexByte(word, '/') == 0
}

func (c *conversation) command(ctx context.Context, line string) error {
	if word, text, _ := strings.Cut(line, " "); word == "/remember" {
		return c.remember(ctx, strings.TrimSpace(text))
	}
	switch line {
	case "/help":
		fmt.Fprintln(c.a.Out, chatHelp)
	case "/why":
		if c.last == nil {
			fmt.Fprintln(c.a.Out, "There was no turn yet.")
			return nil
		}
		return c.a.showReceipt(ctx, c.layer, *c.last, false)
	case "/forget":
		return c.forget(ctx)
	case "/new":
		c.finish(ctx)
		c.reset()
		fmt.Fprintln(c.a.Out, "A new conversation.")
		return c.refresh(ctx)
	default:
		return &ken.Error{Code: ken.CodeInvalid, Msg: "there is no command " + line, Try: "/help lists the commands."}
	}
	return nil
}

// turn sends a message to the model and streams its answer. If the answer is stopped
// or fails, the part that arrived stays in the conversation; a question without any
// answer does not.
func (c *conversation) turn(ctx context.Context, text string) error {
	asked := append(slices.Clip(c.messages), openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: text})
	c.said = true
	added, err := c.answer(ctx, asked)
	if n := len(added); n > 0 && added[n-1].Role == openai.ChatMessageRoleAssistant && added[n-1].Content != "" {
		c.layer.Answered(c.who, ken.Message{Text: added[n-1].Content})
		c.messages = append(asked, added...)
	}
	return err
}

// noStore returns the error of a command that needs the store when there is none.
// The reason was printed when the chat started.
func noStore() error {
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "this chat works without knowledge", Try: "See the message at the start of the chat, or run ken doctor."}
}

// remember stores a text as a hot fact, on the user's own word: every following turn
// contains it.
func (c *conversation) remember(ctx context.Context, text string) error {
	if text == "" {
		return &ken.Error{Code: ken.CodeInvalid, Msg: "/remember needs a text", Try: "/remember Deploys need a ticket."}
	}
	if !c.stored {
		return noStore()
	}
	s, release, err := c.layer.Store(ctx, c.a.Owner)
	if err != nil {
		return err
	}
	defer release()
	h := c.layer.Operator().Session(c.who)
	h = h.Branch(h.About().Branch, session.BranchOptions{Actor: ken.Actor{Type: "user", ID: cli.CurrentUser()}})
	said := ken.FromUserStatement(c.who.Session, "")
	id, err := h.Learn(ctx, text, []ken.Evidence{said}, session.WithKind(ken.KindHot), session.WithKey(memoryfile.Key(text)))
	if err != nil {
		return err
	}
	kept, err := s.Get(ctx, id)
	if err == nil && kept.Status == ken.StatusDisputed { // rejected earlier, and now stated again
		if err = h.Verify(ctx, id, said); err == nil {
			kept, err = s.Get(ctx, id)
		}
	}
	switch {
	case err != nil:
		return err
	case kept.Status == ken.StatusSuperseded:
		return &ken.Error{Code: ken.CodeRefused, Msg: "that was replaced by claim " + kept.SupersededBy, Try: "See ken history " + kept.SupersededBy + "."}
	case kept.Text != text:
		fmt.Fprintln(c.a.Err, "ken: what looked like a secret, a model's reasoning or a control character was taken out")
	}
	fmt.Fprintf(c.a.Out, "Remembered: %s\n", cli.Printable(strings.Join(strings.Fields(kept.Text), " ")))
	if err := cli.Desk(c.layer, s).SyncMemory(ctx); err != nil {
		return fmt.Errorf("it is remembered, but not in %s: %w", memoryfile.Name, err)
	}
	return nil
}

// forget deletes the conversation's messages from the journal and starts a new
// conversation. In this one, the next turn would send them all again.
func (c *conversation) forget(ctx context.Context) error {
	if !c.stored {
		return noStore()
	}
	s, release, err := c.layer.Store(ctx, c.a.Owner)
	if err != nil {
		return err
	}
	defer release()
	if err := cli.ForgetJournal(ctx, c.layer, s, c.who.Session); err != nil {
		return err
	}
	c.reset()
	fmt.Fprintln(c.a.Out, "This conversation was deleted, and nothing is learned from it. A new one begins.")
	return nil
}
