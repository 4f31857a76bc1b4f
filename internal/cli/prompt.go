package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/kenlayer/ken"
)

// ReadText returns the text given to a command: its arguments, or standard input if there
// are none or the only one is "-".
func (a *App) ReadText(args []string) (string, error) {
	s := strings.Join(args, " ")
	if len(args) == 0 || s == "-" {
		if len(args) == 0 && IsTerminal(a.In) {
			return "", Usagef("say what, or give - and write to standard input")
		}
		b, err := io.ReadAll(a.In)
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
func (a *App) Confirm(question, otherwise string) error {
	if !IsTerminal(a.In) {
		return UsageError(&ken.Error{Code: ken.CodeRefused, Msg: strings.ToLower(otherwise[:1]) + strings.TrimSuffix(otherwise[1:], ".") + ": there is no terminal to ask on",
			Try: "Look at the list above, then add --yes."})
	}
	fmt.Fprint(a.Err, question+" [y/N] ")
	reply, err := bufio.NewReader(a.In).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if reply = strings.ToLower(strings.TrimSpace(reply)); reply != "y" && reply != "yes" {
		fmt.Fprintln(a.Err, otherwise)
		return ErrReported
	}
	return nil
}
