package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/embed/exchange"
)

// A command receives the rules and the data as one text on its standard input, and prints
// the answer. It is started without a shell, in an empty folder that is deleted
// afterwards, so that an agent program finds no project to work in.

const fieldCommand = "harvest.command"

// commandLimit is the maximum output of a program, in bytes.
const commandLimit = 1 << 20

// errorChars is how many characters of a program's standard error are kept.
const errorChars = 200

// afterKill is how long to wait for the output of a program after it was killed.
const afterKill = 2 * time.Second

// programName returns the name of a command's program.
func programName(args []string) string {
	return strings.TrimSuffix(filepath.Base(args[0]), ".exe")
}

// runCommand runs the program and returns its answer.
func (c *Client) runCommand(ctx context.Context, t task, talk []turn) (string, error) {
	dir, err := os.MkdirTemp("", "ken-harvest-")
	if err != nil {
		return "", &ken.Error{Code: ken.CodeUnavailable, Field: fieldCommand, Msg: "no folder can be made for it", Try: "See that the system's folder for temporary files can be written.", Err: err}
	}
	defer os.RemoveAll(dir) // files that it leaves there are not needed
	run, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	cmd := exec.CommandContext(run, c.opts.Command[0], c.opts.Command[1:]...)
	cmd.Env = append(os.Environ(), "KEN_HOOKS=off") // an agent with ken hook installed would learn from the prompt
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = dir, strings.NewReader(t.system(true)+"\n\n"+prompt(talk)), afterKill
	out, errs := &bounded{most: commandLimit, full: cancel}, &bounded{most: commandLimit}
	cmd.Stdout, cmd.Stderr = out, errs
	ownGroup(cmd)
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", c.explain(ctx, &reply{}, err, talk)
	case out.over:
		return "", c.commandError(ken.CodeInvalid, fmt.Sprintf("prints more than %d MiB", commandLimit>>20), "See what it prints; the answer alone is read.", nil)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", c.commandError(ken.CodeInvalid, "is not found", "Install it, or give the path of the program.", err)
	case run.Err() != nil:
		return "", c.commandError(ken.CodeUnavailable, "did not answer within "+c.opts.Timeout.String(), "Raise "+fieldTimeout+", or choose a faster model by its arguments.", run.Err())
	case err != nil:
		return "", c.commandError(ken.CodeUnavailable, "failed ("+exitReason(err)+")"+c.complaint(errs.kept.String(), talk), "Run it by hand in an empty folder, with a prompt on its standard input.", err)
	case strings.TrimSpace(out.kept.String()) == "":
		return "", c.commandError(ken.CodeUnavailable, "printed nothing"+c.complaint(errs.kept.String(), talk), "Run it by hand in an empty folder, with a prompt on its standard input.", nil)
	}
	return out.kept.String(), nil
}

func (c *Client) commandError(code ken.Code, what, try string, err error) error {
	return &ken.Error{Code: code, Field: fieldCommand, Msg: programName(c.opts.Command) + " " + what, Try: try, Err: err}
}

// complaint returns the last line of a program's standard error. It returns "" if the line
// repeats what was sent or contains a secret, because errors are logged.
func (c *Client) complaint(said string, talk []turn) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	last := exchange.Clip(lines[len(lines)-1], errorChars)
	if last == "" || repeats(last, talk) || len(guardrail.Secrets(last)) > 0 {
		return ""
	}
	return ": " + last
}

// exitReason describes how a program ended.
func exitReason(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ProcessState.String()
	}
	return "it could not be started"
}

// prompt writes a conversation as one text: the data, and the messages after it.
func prompt(talk []turn) string {
	var b strings.Builder
	for i, m := range talk {
		switch {
		case m.role == "assistant":
			b.WriteString("\n\nYour last answer was:\n")
		case i > 0:
			b.WriteString("\n\n")
		}
		b.WriteString(m.text)
	}
	b.WriteString("\n")
	return b.String()
}

// bounded is a writer that keeps the beginning of an output.
type bounded struct {
	kept bytes.Buffer
	most int
	over bool
	full func() // called if there is more; may be nil
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.most-b.kept.Len())
	b.kept.Write(p[:n])
	if n < len(p) {
		b.over = true
		if b.full != nil {
			b.full()
		}
	}
	return len(p), nil
}

// sample asks the model of a connected client.
func (c *Client) sample(ctx context.Context, t task, talk []turn) (string, error) {
	run, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	_, reserve := c.budget(t)
	text, _, err := c.opts.Sample(run, t.system(true), prompt(talk), reserve)
	var known *ken.Error
	if err != nil && ctx.Err() == nil && !errors.As(err, &known) {
		return "", &ken.Error{Code: ken.CodeUnavailable, Field: "harvest.sampling", Msg: "the connected client's model gave no answer",
			Try: "See that the client is connected and that its user allows the request.", Err: err}
	}
	if len(text) > commandLimit {
		return "", &ken.Error{Code: ken.CodeInvalid, Field: "harvest.sampling", Msg: "the answer of the connected client's model is far too long"}
	}
	return text, err
}
