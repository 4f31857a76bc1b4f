package ken

import (
	"errors"
	"strings"
)

// Code classifies an error for programs; the message is for people.
type Code string

// The codes. No others exist.
const (
	CodeInternal    Code = "internal"    // a bug in Ken; the detail is for operators
	CodeInvalid     Code = "invalid"     // the input is wrong; Field names where
	CodeNotFound    Code = "not_found"   // no such claim for this owner
	CodeExists      Code = "exists"      // the id is taken by different content
	CodeRefused     Code = "refused"     // a rule forbids it, such as a status transition or an owner
	CodeHeld        Code = "held"        // another process holds the folder
	CodeCorrupt     Code = "corrupt"     // data on disk can't be read; it was not changed
	CodeUnavailable Code = "unavailable" // a dependency is down, slow or full; try later
)

// Error is an error with a code for programs and advice for people. Code, Field and Try
// may be shown to users; Err is detail for operators.
type Error struct {
	Code  Code
	Field string // the input field at fault, in its external spelling; may be empty
	Msg   string // what happened, lower case, no trailing stop
	Try   string // what the user should do, an imperative sentence; may be empty
	Err   error  // the cause; may be nil
}

// Error joins field, message and cause as "field: message: cause".
func (e *Error) Error() string {
	parts := make([]string, 0, 3)
	for _, p := range []string{e.Field, e.Msg} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	if len(parts) == 0 {
		return string(e.Code)
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is a sentinel with the same code, so that errors.Is(err,
// ken.ErrNotFound) works for any error with that code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Msg == "" && t.Field == "" && t.Err == nil
}

// Sentinels, one for each code that callers test for.
var (
	ErrInvalid     = &Error{Code: CodeInvalid}
	ErrNotFound    = &Error{Code: CodeNotFound}
	ErrExists      = &Error{Code: CodeExists}
	ErrRefused     = &Error{Code: CodeRefused}
	ErrHeld        = &Error{Code: CodeHeld}
	ErrCorrupt     = &Error{Code: CodeCorrupt}
	ErrUnavailable = &Error{Code: CodeUnavailable}
)

// Hint returns the Try of err or of an error that it wraps, and "" when there is none.
// Command lines print it on a line that starts with "Try:".
func Hint(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Try != "" {
			return e.Try
		}
		err = e.Err
	}
	return ""
}

func invalid(field, msg, try string) error {
	return &Error{Code: CodeInvalid, Field: field, Msg: msg, Try: try}
}
