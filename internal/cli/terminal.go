package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/term"
)

// The styles of words on a terminal. Style finds the one for a word.
const (
	Strong = "1"  // a heading
	Dim    = "2"  // what no longer counts
	Good   = "32" // what is proven or in order
	Bad    = "31" // what is wrong
	Warn   = "33" // what a person should look at
)

// meanings are the styles of the words that tables show.
var meanings = map[string]string{
	"verified": Good, "ok": Good, "done": Good, "succeeded": Good, "same": Good, "green": Good,
	"warn": Warn, "warning": Warn, "hypothesis": Warn, "guessed": Warn, "paused": Warn, "blocked": Warn, "changed": Warn,
	"disputed": Bad, "fail": Bad, "failed": Bad, "dead": Bad, "gone": Bad, "red": Bad,
	"superseded": Dim, "expired": Dim, "archived": Dim, "cancelled": Dim, "abandoned": Dim,
}

// Style returns the style of a word such as a status, "" for none.
func Style(word string) string { return meanings[strings.ToLower(strings.TrimSpace(word))] }

// Paint returns text in a style if the output is a terminal that shows colours.
func (a *App) Paint(style, text string) string { return paint(a.Out, style, text) }

func paint(stream any, style, text string) string {
	if style == "" || !hasColour(stream) {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// hasColour reports whether a stream is a terminal that colours may be sent to: see
// https://no-color.org.
func hasColour(stream any) bool {
	return IsTerminal(stream) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Page prints a text. What a terminal can't show at once goes through the pager that PAGER
// names, else less; an empty PAGER means none.
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

// page runs the pager, and reports false if there is none.
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
		cmd.Env = append(os.Environ(), "LESS=FRX") // short texts stay, colours show, the screen is kept
	}
	if err := cmd.Start(); err != nil {
		return false, nil
	}
	err = cmd.Wait()
	var ended *exec.ExitError
	if errors.As(err, &ended) || err == nil {
		return true, nil // a pager that was left early is no failure
	}
	return true, fmt.Errorf("show in %s: %w", words[0], err)
}
