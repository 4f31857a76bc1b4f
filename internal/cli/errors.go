package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kenlayer/ken"
)

// Exit statuses of ken.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// usage marks an error in the command line. It leads to exit status 2.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

// UsageError marks err as an error in the command line.
func UsageError(err error) error { return usage{err} }

// Usagef returns a usage error with a formatted text.
func Usagef(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

// ErrReported means that the command failed and has already printed why.
var ErrReported = errors.New("told already")

// Report prints an error with its hint and returns the exit status.
func (a *App) Report(err error) int {
	var u usage
	var other ExitStatus
	switch {
	case errors.As(err, &other):
		return int(other)
	case errors.Is(err, ErrReported):
		return ExitFailed
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(a.Err, "ken: stopped")
		return ExitFailed
	}
	fmt.Fprintf(a.Err, "ken: %v\n", err)
	isUsage := errors.As(err, &u)
	switch hint := ken.Hint(err); {
	case hint != "":
		fmt.Fprintf(a.Err, "Try: %s\n", hint)
	case isUsage:
		fmt.Fprintln(a.Err, "Try: ken help, or the command with --help.")
	case errors.Is(err, os.ErrPermission):
		fmt.Fprintln(a.Err, "Try: check the permissions of that path.")
	default:
		fmt.Fprintln(a.Err, "Try: ken doctor.")
	}
	if isUsage {
		return ExitUsage
	}
	return ExitFailed
}

// AsUsageError marks err as a usage error if it says that a value is invalid.
func AsUsageError(err error) error {
	if errors.Is(err, ken.ErrInvalid) {
		return UsageError(err)
	}
	return err
}

// ExitStatus is the exit status of another program, with which ken ends too. It is not
// printed as an error.
type ExitStatus int

// Error implements error.
func (e ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
