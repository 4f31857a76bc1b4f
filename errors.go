package ken

import (
	"errors"
	"strings"
)

// Code classifies an error for machines: a program branches on it, a person
// reads the message.
type Code string

// The closed set of codes.
const (
	CodeInternal    Code = "internal"    // a fault of ours; the detail is for operators
	CodeInvalid     Code = "invalid"     // the input is wrong; Field names where
	CodeNotFound    Code = "not_found"   // no such claim for this owner
	CodeExists      Code = "exists"      // the id is taken by different content
	CodeRefused     Code = "refused"     // a rule forbids it (a status transition, an owner)
	CodeHeld        Code = "held"        // another process holds the folder
	CodeCorrupt     Code = "corrupt"     // what is on disk can't be read; it was not changed
	CodeUnavailable Code = "unavailable" // a dependency is down, slow or full; try later
)

// Error is an error that a caller can branch on and a person can act on.
// Code, Field and Try may be shown to users; Err is detail for operators.
type Error struct {
	Code  Code
	Field string // the input field at fault, in its external spelling; may be empty
	Msg   string // what happened, lower case, no trailing stop
	Try   string // what to do about it, an imperative sentence; may be empty
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

// Is reports whether target is a bare sentinel of the same code, so that
// errors.Is(err, ken.ErrNotFound) works however the error was dressed.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Msg == "" && t.Field == "" && t.Err == nil
}

// Sentinels, one per code that callers branch on.
var (
	ErrInvalid     = &Error{Code: CodeInvalid}
	ErrNotFound    = &Error{Code: CodeNotFound}
	ErrExists      = &Error{Code: CodeExists}
	ErrRefused     = &Error{Code: CodeRefused}
	ErrHeld        = &Error{Code: CodeHeld}
	ErrCorrupt     = &Error{Code: CodeCorrupt}
	ErrUnavailable = &Error{Code: CodeUnavailable}
)

// Hint returns the advice carried by err or anything that it wraps, and "" when
// there is none. Command lines print it on a line that starts with "Try:".
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
