package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/middleware/hook"
	"github.com/kenlayer/ken/middleware"
)

// hookDeadline is the longest time that a hook may take, because the agent waits for it.
const hookDeadline = time.Second

// settleDeadline is the longest time of the harvest that a hook starts in the background.
const settleDeadline = 10 * time.Minute

// maxEvent limits the size of an event, in bytes: a tool's result may be a whole file.
const maxEvent = 16 << 20

// hooksVariable is the environment variable that controls hooks: "off" disables them; with
// "check" a hook starts no background process.
const hooksVariable = "KEN_HOOKS"

func (a *commands) hookCommand() *cobra.Command {
	var deadline time.Duration
	var settle bool
	cmd := &cobra.Command{
		Use:   "hook AGENT",
		Short: "Answer an event of an agent's hooks",
		Long: "Read an event of an agent from standard input, as ken connect AGENT sets it up. A user's message is answered by the block of what " +
			"Ken knows for it. The user's messages, the results of tools and the agent's answers are stored in the session's journal, which is " +
			"harvested when the session ends.\n\n" +
			"It never blocks the agent: after an error, or at the deadline, it prints nothing on standard output, one " +
			"line on standard error, and exits with status 0. " + hooksVariable + "=off turns it off.",
		Example: `  ken connect claude-code
  ken hook claude-code < event.json`,
		Args: cli.ExactArgs("AGENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if settle {
				return a.settle(cmd.Context())
			}
			a.hook(cmd.Context(), args[0], deadline)
			return nil
		},
	}
	cmd.Flags().DurationVar(&deadline, "deadline", hookDeadline, "the deadline, a `DURATION` such as 2s")
	cmd.Flags().BoolVar(&settle, "settle", false, "harvest the sessions that have ended")
	_ = cmd.Flags().MarkHidden("settle") // can't fail: the flag was defined above
	return cmd
}

// hook answers an event. It reports errors only to standard error, never by its exit status.
// At the deadline it returns with the work unfinished; the process then ends, which the store
// tolerates.
func (a *commands) hook(ctx context.Context, agent string, deadline time.Duration) {
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
	if err != nil && os.Getenv(hooksVariable) != "off" {
		fmt.Fprintf(a.Err, "ken: hook %s: %s\n", agent, cli.Cell(err.Error()))
	}
}

// answer prints the answer to the event on standard input. It reads all of the event, because
// an agent may fail if it can't write all of it.
func (a *commands) answer(ctx context.Context, agent string) error {
	if os.Getenv(hooksVariable) == "off" {
		_, err := io.Copy(io.Discard, a.In)
		return err
	}
	body, err := io.ReadAll(io.LimitReader(a.In, maxEvent+1))
	if err == nil && len(body) > maxEvent {
		_, err = io.Copy(io.Discard, a.In)
	}
	if err != nil {
		return fmt.Errorf("read the event: %w", err)
	}
	if len(body) > maxEvent {
		return fmt.Errorf("the event has more than %d bytes", maxEvent)
	}
	e, err := hook.Parse(agent, body)
	if err != nil || !e.Matters() && !e.Settles() {
		return err
	}
	a.enter(e)
	r, err := a.hookSettings()
	if err != nil {
		return err
	}
	out, taken, err := hook.Send(ctx, r.Root, r.Config, a.Owner, hook.Pack(agent, body))
	if taken {
		return errors.Join(a.print(ctx, out), err)
	}
	if e.Matters() {
		err = a.answerLocally(ctx, r, e)
	}
	if e.Settles() && os.Getenv(hooksVariable) != "check" { // no other process would harvest
		err = errors.Join(err, a.settleLater())
	}
	return err
}

// answerLocally answers an event when no ken serve is running.
func (a *commands) answerLocally(ctx context.Context, r *config.Resolved, e *hook.Event) error {
	l, err := middleware.Open(ctx, middleware.Options{Root: r.Root, Config: &r.Config, Strict: true, Brief: true, Log: a.Logger()})
	if err != nil {
		return err
	}
	out, err := hook.Answer(ctx, l, a.Owner, e)
	return errors.Join(err, a.print(ctx, out), l.Close())
}

// print writes the hook's answer, unless the deadline has passed.
func (a *commands) print(ctx context.Context, out []byte) error {
	if len(out) == 0 || ctx.Err() != nil {
		return nil
	}
	_, err := a.Out.Write(out)
	return err
}

// projectFolders lists the environment variables in which agents give the project's folder.
// The folder in an event changes with each cd.
var projectFolders = []string{"CURSOR_PROJECT_DIR", "QWEN_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"}

// enter changes to the event's project, unless --dir is set.
func (a *commands) enter(e *hook.Event) {
	if a.Dir != "." && a.Dir != "" {
		return
	}
	dirs := cli.Map(projectFolders, func(name *string) string { return os.Getenv(*name) })
	for _, dir := range append(dirs, e.Dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && filepath.IsAbs(dir) {
			a.Dir = dir
			return
		}
	}
}

// hookSettings returns the configuration for hooks. Hooks read none of the project's files,
// and create none in a folder that is not a project.
func (a *commands) hookSettings() (*config.Resolved, error) {
	r, err := a.Resolve()
	if err != nil {
		return nil, err
	}
	if err := cli.SkipFiles(r, func(string) {}); err != nil {
		return nil, err
	}
	if !repository.IsProject(r.Root) {
		if err := r.Elsewhere(); err != nil {
			return nil, err
		}
	}
	r.Config.Repository.Index, r.Config.Middleware.Graph, r.Config.Middleware.Objectives = false, false, false
	return r, nil
}

// settleLater starts a harvest in a separate process and does not wait for it.
func (a *commands) settleLater() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("harvest: %w", err)
	}
	args := []string{"hook", "none", "--settle", "--dir", cmp.Or(a.Dir, ".")}
	if a.Owner != "" {
		args = append(args, "--owner", a.Owner)
	}
	return startDetached(self, args)
}

// settle harvests the sessions that have ended.
func (a *commands) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleDeadline)
	defer cancel()
	r, err := a.hookSettings()
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
