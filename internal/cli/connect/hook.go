package connect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
)

// hookDeadline is how long a hook may take. The agent waits for it.
const hookDeadline = time.Second

// settleDeadline bounds the harvest that a hook starts beside itself.
const settleDeadline = 10 * time.Minute

// HooksOff is the environment variable that switches hooks off where it is "off".
const HooksOff = "KEN_HOOKS"

func (a *commands) hookCommand() *cobra.Command {
	var deadline time.Duration
	var settle bool
	cmd := &cobra.Command{
		Use:   "hook AGENT",
		Short: "Answer an event of an agent's hooks",
		Long: "Read an event of an agent from standard input, as ken connect AGENT sets it up. A user's message is answered by the block of what " +
			"Ken knows for it. What the user says, what tools answer and what the agent answers are kept in the session's journal, which is " +
			"harvested when the session ends.\n\n" +
			"It never stands in the agent's way: after an error, or when it is not ready in time, it prints nothing on standard output, one " +
			"line on standard error, and ends with status 0. " + HooksOff + "=off switches it off.",
		Example: `  ken connect claude-code
  echo '{"hook_event_name":"UserPromptSubmit","session_id":"s-1","prompt":"How do we release?"}' | ken hook claude-code`,
		Args: cli.ExactArgs("AGENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if settle {
				return a.settle(cmd.Context())
			}
			a.hook(cmd.Context(), args[0], deadline)
			return nil
		},
	}
	cmd.Flags().DurationVar(&deadline, "deadline", hookDeadline, "how `long` it may take")
	cmd.Flags().BoolVar(&settle, "settle", false, "harvest the sessions that are over")
	_ = cmd.Flags().MarkHidden("settle") // a hook starts it; it is there by the line above
	return cmd
}

// hook answers an event and reports an error to standard error only. When the deadline is
// over it returns and leaves the rest undone: the process ends, and the store stands that.
func (a *commands) hook(ctx context.Context, agent string, deadline time.Duration) {
	if os.Getenv(HooksOff) == "off" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- caught.Run(func() error { return a.answer(ctx, agent) }) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = fmt.Errorf("not ready after %s", deadline)
	}
	if err != nil {
		fmt.Fprintf(a.Err, "ken: hook %s: %s\n", agent, cli.Cell(err.Error()))
	}
}

// answer does what an event asks for.
func (a *commands) answer(ctx context.Context, agent string) (err error) {
	e, err := readEvent(a.In)
	if err != nil {
		return err
	}
	what := e.moment()
	if what == "" || what == started && !injectsAtStart(agent, e) {
		return nil
	}
	a.enter(e)
	h := &hook{commands: a, event: e, agent: agent}
	if h.layer, err = a.briefLayer(ctx); err != nil {
		return err
	}
	held := h.layer.Operator().HoldsStore()
	defer func() {
		err = errors.Join(err, h.layer.Close())
		if held && (what == started || what == compacted || what == ended) { // nobody else would
			err = errors.Join(err, a.settleLater())
		}
	}()
	switch what {
	case started:
		return h.start(ctx)
	case asked:
		return h.prompt(ctx)
	case used:
		return h.add(ctx, e.messages()...)
	case answered:
		return h.answered(ctx)
	}
	return h.layer.End(ctx, a.Owner, e.Session, session.Closed)
}

// injectsAtStart reports whether a conversation that starts is given a block: where the agent
// has just replaced the conversation by a summary, and where there is no other moment for it.
func injectsAtStart(agent string, e *event) bool { return agent == cursor || e.Source == "compact" }

// projectFolders are the variables in which agents name the project. The folder in an event
// changes with each cd.
var projectFolders = []string{"CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "QWEN_PROJECT_DIR", "CURSOR_PROJECT_DIR"}

// enter goes to the event's project, unless --dir names one.
func (a *commands) enter(e *event) {
	if a.Dir != "." && a.Dir != "" {
		return
	}
	dirs := []string{e.Dir}
	for _, name := range projectFolders {
		dirs = append([]string{os.Getenv(name)}, dirs...)
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && filepath.IsAbs(dir) {
			a.Dir = dir
			return
		}
	}
}

// settings returns the configuration for hooks. The user speaks for himself, and no file of
// the project is read.
func (a *commands) settings() (*config.Resolved, error) {
	r, err := a.Resolve()
	if err != nil {
		return nil, err
	}
	if err := cli.SkipFiles(r, func(string) {}); err != nil {
		return nil, err
	}
	r.Config.Repository.Index, r.Config.Middleware.Graph, r.Config.Middleware.Objectives = false, false, false
	r.Config.Knowledge.TrustUserUnlessSet()
	return r, nil
}

func (a *commands) briefLayer(ctx context.Context) (*middleware.Layer, error) {
	r, err := a.settings()
	if err != nil {
		return nil, err
	}
	return middleware.Open(ctx, middleware.Options{Root: r.Root, Config: &r.Config, Strict: true, Brief: true, Log: a.Logger()})
}

// hook is one event with the layer that answers it.
type hook struct {
	*commands
	layer *middleware.Layer
	event *event
	agent string
}

func (h *hook) turn(msgs []ken.Message) ken.Turn {
	return ken.Turn{Owner: h.Owner, Session: h.event.Session, Agent: h.agent, Model: h.event.Model, Messages: msgs}
}

// prompt prints the block for the user's message, and has the message journaled.
func (h *hook) prompt(ctx context.Context) error {
	if h.event.Prompt == "" {
		return nil
	}
	msgs, err := h.conversation(ctx)
	if err != nil {
		return err
	}
	return h.assemble(ctx, h.turn(append(msgs, ken.Message{Role: "user", Text: h.event.Prompt})))
}

// conversation returns what the agent still has of the conversation, as far as the journal
// has it: what was said before a harvest is what the agent compacted or put aside.
func (h *hook) conversation(ctx context.Context) (msgs []ken.Message, err error) {
	tr, err := h.layer.Operator().Journal(h.Owner).Read(ctx, h.event.Session)
	if err != nil && !errors.Is(err, ken.ErrNotFound) {
		return nil, err
	}
	if tr.Info.State != session.Open {
		return nil, nil
	}
	for i := range tr.Entries {
		if tr.Entries[i].Seq > tr.Upto {
			msgs = append(msgs, tr.Entries[i].Message)
		}
	}
	return msgs, nil
}

// assemble prints the block of a turn, if it has one.
func (h *hook) assemble(ctx context.Context, t ken.Turn) error {
	asm := h.layer.Assemble(ctx, t)
	last := len(t.Messages) - 1
	i := slices.IndexFunc(asm.Insertions, func(in middleware.Insertion) bool { return in.Before == last })
	if i < 0 || ctx.Err() != nil {
		return nil
	}
	return h.print(asm.Insertions[i].Text)
}

// print writes text in the form in which the agent takes it into the conversation.
func (h *hook) print(text string) error {
	var v any
	if h.agent == cursor {
		v = map[string]string{"additional_context": text}
	} else {
		v = map[string]any{"hookSpecificOutput": map[string]string{"hookEventName": h.event.Name, "additionalContext": text}}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := h.Out.Write(b.Bytes())
	return err
}

// opening stands for what a conversation will be about while nobody has said it.
const opening = "What should I know before I go on here?"

// start prints a block for a conversation in which nobody has asked yet. It leaves no trace.
func (h *hook) start(ctx context.Context) error {
	text := opening
	tr, err := h.layer.Operator().Journal(h.Owner).Read(ctx, h.event.Session)
	if err != nil && !errors.Is(err, ken.ErrNotFound) {
		return err
	}
	for i := range tr.Entries {
		if m := &tr.Entries[i].Message; m.Role == "user" {
			text = m.Text
		}
	}
	t := h.turn([]ken.Message{{Role: "user", Text: text}})
	t.Incognito = true
	return h.assemble(ctx, t)
}

// answered journals what the agent answered. Some agents tell it twice.
func (h *hook) answered(ctx context.Context) error {
	text := h.event.Last
	if text == "" && h.event.Transcript != "" {
		var err error
		if text, err = lastAnswer(h.event.Transcript); err != nil {
			return err
		}
	}
	if text == "" {
		return nil
	}
	tr, err := h.layer.Operator().Journal(h.Owner).Tail(ctx, h.event.Session, 1)
	if err == nil && len(tr.Entries) > 0 && tr.Entries[0].Message.Role == "assistant" && tr.Entries[0].Message.Text == text {
		return nil
	}
	return h.add(ctx, ken.Message{Role: "assistant", Text: text})
}

// add journals messages.
func (h *hook) add(ctx context.Context, msgs ...ken.Message) error {
	if len(msgs) == 0 {
		return nil
	}
	_, err := h.layer.Session(h.turn(nil)).Add(ctx, msgs...)
	return err
}

// settleLater starts a process that harvests, and does not wait for it.
func (a *commands) settleLater() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("harvest: %w", err)
	}
	args := []string{"hook", "none", "--settle", "--dir", cmp.Or(a.Dir, ".")}
	if a.Owner != "" {
		args = append(args, "--owner", a.Owner)
	}
	return startAlone(self, args)
}

// settle harvests the sessions that are over.
func (a *commands) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleDeadline)
	defer cancel()
	r, err := a.settings()
	if err != nil {
		return err
	}
	l, err := middleware.Open(ctx, middleware.Options{Root: r.Root, Config: &r.Config, Strict: true, Foreground: true, Log: a.Logger()})
	if err != nil {
		return err
	}
	_, err = l.Harvest(ctx, a.Owner)
	return errors.Join(err, l.Close())
}
