package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/gateway/api"
)

// Exit statuses of ken.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2

	ExitInterrupted = 128 + 2  // ended by Ctrl-C, as shells report it
	ExitTerminated  = 128 + 15 // ended by SIGTERM
)

// usage marks an error in the command line. It leads to exit status 2.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

// UsageError marks err as an error in the command line.
func UsageError(err error) error { return usage{err} }

// Usagef returns a usage error with a formatted text.
func Usagef(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

// ErrReported means that the command failed and has already printed why.
var ErrReported = errors.New("the error was printed already")

// Report prints an error with its hint and returns the exit status. With --json it is a
// problem document (RFC 9457) on one line, as the API answers it.
func (a *App) Report(err error) int {
	var u usage
	var other ExitStatus
	switch {
	case errors.As(err, &other):
		return int(other)
	case errors.Is(err, ErrReported):
		return ExitFailed
	}
	status := ExitFailed
	if errors.As(err, &u) {
		status = ExitUsage
	}
	stopped := errors.Is(err, context.Canceled)
	switch {
	case a.JSON:
		a.reportProblem(err, status == ExitUsage)
	case stopped:
		fmt.Fprintln(a.Err, "ken: stopped")
	default:
		fmt.Fprintf(a.Err, "%s %v\n%s %s\n", paint(a.Err, Bad, "ken:"), err, paint(a.Err, Strong, "Try:"), hint(err, status == ExitUsage))
	}
	return status
}

func hint(err error, usage bool) string {
	switch try := ken.Hint(err); {
	case try != "":
		return try
	case usage:
		return "ken help, or the command with --help."
	case errors.Is(err, os.ErrPermission):
		return "check the permissions of that path."
	}
	return "ken doctor."
}

// reportProblem prints an error as a problem document. A usage error without a code of its
// own becomes the problem "invalid".
func (a *App) reportProblem(err error, usage bool) {
	if e := (*ken.Error)(nil); usage && !errors.As(err, &e) {
		err = &ken.Error{Code: ken.CodeInvalid, Msg: err.Error(), Try: hint(err, true)}
	}
	if errors.Is(err, context.Canceled) {
		err = &ken.Error{Code: ken.CodeUnavailable, Msg: "stopped", Try: "Run the command again."}
	}
	p := api.ProblemOf(err)
	p.Try = cmp.Or(p.Try, hint(err, usage))
	enc := json.NewEncoder(a.Err)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(p) // errors of standard error are ignored, as in any print
}

// AsUsageError marks err as a usage error if it says that a value is invalid.
func AsUsageError(err error) error {
	if errors.Is(err, ken.ErrInvalid) {
		return UsageError(err)
	}
	return err
}

// ExitStatus is the exit status of another program, which ken returns too. It is not
// printed as an error.
type ExitStatus int

// Error implements error.
func (e ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
