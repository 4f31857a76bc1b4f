package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/term"

	"github.com/kenlayer/ken"
)

// Styles of words on a terminal. The function Style returns the style of a word.
const (
	Strong = "1"  // a heading
	Dim    = "2"  // no longer valid
	Good   = "32" // proven or in order
	Bad    = "31" // wrong
	Warn   = "33" // needs attention
)

// wordStyles maps words that tables show to their styles.
var wordStyles = map[string]string{
	"verified": Good, "ok": Good, "done": Good, "succeeded": Good, "same": Good, "green": Good,
	"warn": Warn, "warning": Warn, "hypothesis": Warn, "guessed": Warn, "paused": Warn, "blocked": Warn, "changed": Warn,
	"disputed": Bad, "fail": Bad, "failed": Bad, "dead": Bad, "gone": Bad, "red": Bad,
	"superseded": Dim, "expired": Dim, "archived": Dim, "cancelled": Dim, "abandoned": Dim,
}

// Style returns the style of a word such as a status, or "".
func Style(word string) string { return wordStyles[strings.ToLower(strings.TrimSpace(word))] }

// Paint returns text in a style if the output is a terminal that shows colours.
func (a *App) Paint(style, text string) string { return paint(a.Out, style, text) }

func paint(stream any, style, text string) string {
	if style == "" || !hasColour(stream) {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// hasColour reports whether a stream is a terminal that supports colours: see
// https://no-color.org.
func hasColour(stream any) bool {
	return IsTerminal(stream) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Page prints a text. A text longer than the terminal goes through the pager that PAGER
// names, or less; an empty PAGER means none.
func (a *App) Page(text string) error {
	if _, height, err := terminalSize(a.Out); err == nil && IsTerminal(a.In) && strings.Count(text, "\n") >= height {
		if done, err := page(a.Out, a.Err, text); done {
			return err
		}
	}
	_, err := io.WriteString(a.Out, text)
	return err
}

func terminalSize(stream any) (width, height int, err error) {
	f, ok := stream.(*os.File)
	if !ok {
		return 0, 0, errors.ErrUnsupported
	}
	return term.GetSize(int(f.Fd()))
}

// page runs the pager, and returns false if there is none.
func page(out, errs io.Writer, text string) (bool, error) {
	pager, given := os.LookupEnv("PAGER")
	if !given {
		pager = "less"
	}
	words := strings.Fields(pager)
	if len(words) == 0 {
		return false, nil
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return false, nil
	}
	cmd := exec.Command(path, words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), out, errs
	if os.Getenv("LESS") == "" {
		cmd.Env = append(os.Environ(), "LESS=FRX") // less exits if the text fits, shows colours and keeps the screen
	}
	if err := cmd.Start(); err != nil {
		return false, nil
	}
	err = cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); ok || err == nil {
		return true, nil // leaving a pager early is no failure
	}
	return true, fmt.Errorf("show in %s: %w", words[0], err)
}

// ReadText returns the text given to a command: its arguments, or standard input if there
// are none or the only one is "-".
func (a *App) ReadText(ctx context.Context, args []string) (string, error) {
	s := strings.Join(args, " ")
	if len(args) == 0 || s == "-" {
		if len(args) == 0 && IsTerminal(a.In) {
			return "", Usagef("say what, or give - and write to standard input")
		}
		b, err := io.ReadAll(a.Input(ctx))
		if err != nil {
			return "", fmt.Errorf("read standard input: %w", err)
		}
		s = string(b)
	}
	if s = strings.TrimSpace(s); s == "" {
		return "", Usagef("the text is empty")
	}
	return s, nil
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Confirm asks the user a question. Unless the answer is yes, it prints otherwise, which
// says what was not done, and returns ErrReported. Without a terminal it returns an
// error.
func (a *App) Confirm(ctx context.Context, question, otherwise string) error {
	if !IsTerminal(a.In) {
		return UsageError(&ken.Error{Code: ken.CodeRefused, Msg: strings.ToLower(otherwise[:1]) + strings.TrimSuffix(otherwise[1:], ".") + ": there is no terminal to ask on",
			Try: "Look at the list above, then add --yes."})
	}
	fmt.Fprint(a.Err, question+" [y/N] ")
	reply, err := bufio.NewReader(a.Input(ctx)).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if reply = strings.ToLower(strings.TrimSpace(reply)); reply != "y" && reply != "yes" {
		fmt.Fprintln(a.Err, otherwise)
		return ErrReported
	}
	return nil
}
