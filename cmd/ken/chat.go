package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/google/uuid"
	"github.com/sashabaranov/go-openai"
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/middleware/goopenai"
	"github.com/kenlayer/ken/tools"
)

// chatHelp lists what a chat obeys.
const chatHelp = `/why            the receipt of the last turn: what the model was told, and why
/remember TEXT  keep a text in every turn from now on, in later chats as well
/forget         learn nothing from this conversation, and begin another
/new            end this conversation, and begin another with the project as it is now
/help           this list
/quit           leave; so does Ctrl-D`

// chatOptions are chat's flags.
type chatOptions struct {
	system, model, tools string
	noTools              bool
}

func (a *app) chatCommand() *cobra.Command {
	var o chatOptions
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Chat with the configured model, every turn assembled by the layer",
		Long: "Chat with a model behind any OpenAI-compatible endpoint (upstream.base_url). Each turn carries what Ken knows. " +
			"What was typed before comes back with the arrow keys, a paste stays one message, and Ctrl-C stops the answer, " +
			"not the chat.\n\n" +
			"When a conversation ends, Ken keeps what was learned in it, and says so; ken sessions shows what. Ctrl-C skips that: the next " +
			"chat does it when it starts, or ken harvest.\n\n" +
			"The model may search what Ken knows, learn, and ask why something was injected, by calling tools; each call is shown. " +
			"--tools chooses which (" + profileNames() + "); --no-tools is for a model that has no use for them.\n\n" + chatHelp + "\n\n" +
			"Without a terminal, each line of standard input is a turn; Ctrl-C ends it all.",
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.chat(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.system, "system", "", "a system `prompt`")
	cmd.Flags().StringVar(&o.tools, "tools", "", "the tools that are offered: `names` of profiles and tools, separated by commas; default tools.profile")
	cmd.Flags().BoolVar(&o.noTools, "no-tools", false, "offer the model no tools")
	cmd.Flags().StringVar(&o.model, "model", "", "the `model` to chat with; default from the configuration")
	return cmd
}

func (a *app) chat(ctx context.Context, o chatOptions) error {
	cfg, _, err := a.configuration()
	if err != nil {
		return err
	}
	if cfg.Upstream.BaseURL == "" {
		return &ken.Error{Code: ken.CodeInvalid, Field: "upstream.base_url", Msg: "empty: there is no model to chat with",
			Try: "Set upstream.base_url in " + ownConfig() + ", for instance to http://localhost:11434/v1 for Ollama."}
	}
	offer, err := offered(o.tools, cfg)
	if err != nil {
		return err
	}
	if err := a.mayRead(); err != nil {
		return err
	}
	p := a.progress()
	defer p.done()
	c := &conversation{a: a, upstream: newUpstream(cfg.Upstream, o.model), system: o.system, offer: offer, progress: p}
	l, err := a.layer(ctx, p, func(lo *middleware.Options) {
		lo.Config, lo.Strict = &cfg, false
		lo.OnReceipt = func(_ context.Context, r ken.Receipt) { c.last = &r }
	})
	if err != nil {
		return err
	}
	c.layer = l
	if !o.noTools {
		c.tools = tools.New(l, func(to *tools.Options) { to.Log = slog.New(logLines{a.err}) })
	}
	if err := c.refresh(ctx); err != nil {
		return errors.Join(err, l.Close())
	}
	c.reset()
	lines, person := a.lines(filepath.Join(cfg.State(l.Root()), "chat_history"))
	c.person = person
	if person {
		// At the prompt, Ctrl-C is the editor's, and at other times the step's: what
		// main cancels with it must not end the chat.
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
	}
	err = c.catchUp(ctx)
	if err == nil {
		err = c.loop(ctx, lines)
	}
	return errors.Join(err, lines.close(), l.Close())
}

// conversation is one chat and what was said in it so far.
type conversation struct {
	a        *app
	layer    *middleware.Layer
	upstream *upstream
	system   string
	progress *progress // of the layer's long work
	person   bool      // at a terminal
	stored   bool      // there is a store

	tools   *tools.Registry // nil offers none
	offer   []string        // names of those that are offered
	noTools bool            // the model takes none

	who      ken.Turn // every turn's session, owner and agent
	client   *goopenai.Wrapped
	messages []openai.ChatCompletionMessage
	last     *ken.Receipt // of the last turn
	said     bool         // something, in this conversation
	failed   bool         // some turn, of any conversation
}

// reset starts a new conversation, and with it a new session.
func (c *conversation) reset() {
	c.messages, c.last, c.said = nil, nil, false
	if c.system != "" {
		c.messages = append(c.messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: c.system})
	}
	c.who = ken.Turn{Owner: c.a.owner, Session: uuid.NewString(), Agent: "ken chat", Model: c.upstream.model}
	c.client = goopenai.Wrap(c.layer, c.upstream.client, c.who)
}

// refresh brings what is known up to date. Where there is no store, the layer
// has said so, and the chat goes on without.
func (c *conversation) refresh(ctx context.Context) error {
	_, release, err := c.layer.Store(ctx, c.a.owner)
	if c.stored = err == nil; err != nil {
		return ctx.Err()
	}
	defer release()
	return c.a.refresh(ctx, c.layer, c.progress)
}

// loop reads and answers until the input ends, /quit comes, or ctx ends.
func (c *conversation) loop(ctx context.Context, lines lineReader) error {
	for {
		line, err := lines.read(ctx)
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
			c.a.fail(err) // told; the chat goes on
		}
	}
}

// step obeys a command or answers a message. A person's Ctrl-C ends it, and
// nothing else.
func (c *conversation) step(ctx context.Context, line string) error {
	step := ctx
	if c.person {
		var stop context.CancelFunc
		step, stop = signal.NotifyContext(ctx, os.Interrupt)
		defer stop()
	}
	do := c.turn
	if isCommand(line) {
		do = c.command
	}
	err := do(step, line)
	if step.Err() != nil && ctx.Err() == nil {
		fmt.Fprintln(c.a.err, "(stopped)")
		return nil
	}
	return err
}

// end ends the conversation, and is how a chat without a person tells its caller
// that a turn failed.
func (c *conversation) end(ctx context.Context) error {
	c.finish(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.failed && !c.person {
		return errTold
	}
	return nil
}

// isCommand tells a command from a message that begins with a path.
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
		fmt.Fprintln(c.a.out, chatHelp)
	case "/why":
		if c.last == nil {
			fmt.Fprintln(c.a.out, "There was no turn yet.")
			return nil
		}
		return c.a.showReceipt(ctx, c.layer, *c.last, false)
	case "/forget":
		return c.forget(ctx)
	case "/new":
		c.finish(ctx)
		c.reset()
		fmt.Fprintln(c.a.out, "A new conversation.")
		return c.refresh(ctx)
	default:
		return &ken.Error{Code: ken.CodeInvalid, Msg: "there is no command " + line, Try: "/help lists the commands."}
	}
	return nil
}

// turn asks the model and streams its answer. What came of one that is stopped
// or breaks off stays in the conversation; a question without any answer does
// not.
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

// historyLimit bounds the messages that are kept between chats.
const historyLimit = 1000

// history is what was typed, for the arrow keys. It holds messages as the editor
// shows them: on one line each. It implements term.History.
type history struct {
	path    string
	entries []string // oldest first
	changed bool
	broken  bool // the file couldn't be read, and must not be written over
}

// loadHistory returns a history that works, also with an error.
func loadHistory(path string) (*history, error) {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return &history{path: path, broken: true}, fmt.Errorf("read chat history: %w", err)
	}
	h := &history{path: path}
	for line := range strings.Lines(string(b)) {
		h.Add(strings.TrimRight(line, "\r\n"))
	}
	h.changed = false
	return h, nil
}

// Add keeps an entry unless it repeats the one before.
func (h *history) Add(line string) {
	if strings.TrimSpace(line) == "" || len(h.entries) > 0 && h.entries[len(h.entries)-1] == line {
		return
	}
	h.changed = true
	h.entries = append(h.entries, line)
	if len(h.entries) > historyLimit {
		h.entries = h.entries[1:]
	}
}

// Len is how many entries there are.
func (h *history) Len() int { return len(h.entries) }

// At returns an entry; 0 is the newest.
func (h *history) At(i int) string { return h.entries[len(h.entries)-1-i] }

// save writes the history for its owner alone, without what looks like a secret.
func (h *history) save() error {
	if !h.changed || h.broken {
		return nil
	}
	var b strings.Builder
	for _, e := range h.entries {
		safe, _ := guardrail.Redact(strings.ReplaceAll(e, lineSign, "\n")) // keys span lines
		b.WriteString(strings.ReplaceAll(safe, "\n", lineSign) + "\n")
	}
	if err := writePrivate(h.path, b.String()); err != nil {
		return fmt.Errorf("save chat history: %w", err)
	}
	return nil
}

// writePrivate replaces a file as a whole, readable by nobody else.
func writePrivate(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// noStore is the error of a command that needs the store where there is none; why
// was told when the chat started.
func noStore() error {
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "this chat works without knowledge", Try: "See what was said when it started, or run ken doctor."}
}

// remember keeps a text as a hot fact, on the user's own word: it is in every turn
// from the next one on.
func (c *conversation) remember(ctx context.Context, text string) error {
	if text == "" {
		return &ken.Error{Code: ken.CodeInvalid, Msg: "/remember is followed by what is to be remembered", Try: "/remember Deploys need a ticket."}
	}
	if !c.stored {
		return noStore()
	}
	s, release, err := c.layer.Store(ctx, c.a.owner)
	if err != nil {
		return err
	}
	defer release()
	h := c.layer.Session(c.who)
	h = h.Branch(h.About().Branch, session.BranchOptions{Actor: ken.Actor{Type: "user", ID: currentUser()}})
	said := ken.FromUserStatement(c.who.Session, "")
	id, err := h.Learn(ctx, text, []ken.Evidence{said}, session.WithKind(ken.KindHot), session.WithKey(memoryfile.Key(text)))
	if err != nil {
		return err
	}
	kept, err := s.Get(ctx, id)
	if err == nil && kept.Status == ken.StatusDisputed { // turned down once, and now said again
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
		fmt.Fprintln(c.a.err, "ken: what looked like a secret, a model's reasoning or a control character was taken out")
	}
	fmt.Fprintf(c.a.out, "Remembered: %s\n", printable(strings.Join(strings.Fields(kept.Text), " ")))
	if err := myDesk(c.layer, s).SyncMemory(ctx); err != nil {
		return fmt.Errorf("it is remembered, but not in %s: %w", memoryfile.Name, err)
	}
	return nil
}

// forget drops what the journal holds of this conversation, and begins another: in
// the next turn of this one, it would all be said again.
func (c *conversation) forget(ctx context.Context) error {
	if !c.stored {
		return noStore()
	}
	s, release, err := c.layer.Store(ctx, c.a.owner)
	if err != nil {
		return err
	}
	defer release()
	if err := forgetJournal(ctx, c.layer, s, c.who.Session); err != nil {
		return err
	}
	c.reset()
	fmt.Fprintln(c.a.out, "Nothing is learned from this conversation. A new one begins.")
	return nil
}
