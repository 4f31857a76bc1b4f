package remote

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/kenlayer/ken"
)

// fault is an error on its way to another process: what a caller can branch on, what
// a person reads, and the causes.
type fault struct {
	Sort   uint8
	Text   string // in full, where the sort has no parts of its own
	Code   ken.Code
	Field  string
	Msg    string
	Try    string
	Causes []fault
}

// Sorts of faults. Those from faultKnown on are the errors of known, in order.
const (
	faultPlain = iota // a text
	faultWrap         // a text and causes
	faultKen
	faultKnown
)

// known are the errors that callers compare with.
var known = []error{context.Canceled, context.DeadlineExceeded, fs.ErrPermission, fs.ErrNotExist}

// maxCauses bounds how deep causes are followed.
const maxCauses = 16

// toFault returns nil for nil.
func toFault(err error) *fault {
	if err == nil {
		return nil
	}
	f := faultOf(err, maxCauses)
	return &f
}

func faultOf(err error, deep int) fault {
	if deep == 0 {
		return fault{Text: err.Error()}
	}
	causes := func(errs ...error) (out []fault) {
		for _, e := range errs {
			if e != nil {
				out = append(out, faultOf(e, deep-1))
			}
		}
		return out
	}
	if e, ok := err.(*ken.Error); ok { //nolint:errorlint // each link of the chain by itself
		return fault{Sort: faultKen, Code: e.Code, Field: e.Field, Msg: e.Msg, Try: e.Try, Causes: causes(e.Err)}
	}
	switch e := err.(type) { //nolint:errorlint // each link of the chain by itself
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return fault{Sort: faultWrap, Text: err.Error(), Causes: causes(inner)}
		}
	case interface{ Unwrap() []error }:
		return fault{Sort: faultWrap, Text: err.Error(), Causes: causes(e.Unwrap()...)}
	}
	for i, k := range known {
		if errors.Is(err, k) {
			return fault{Sort: faultKnown + uint8(i), Text: err.Error()}
		}
	}
	return fault{Text: err.Error()}
}

// err is the error that f stands for; nil for nil.
func (f *fault) err() error {
	if f == nil {
		return nil
	}
	var causes []error
	for i := range f.Causes {
		causes = append(causes, f.Causes[i].err())
	}
	switch k := int(f.Sort) - faultKnown; {
	case f.Sort == faultKen:
		e := &ken.Error{Code: f.Code, Field: f.Field, Msg: f.Msg, Try: f.Try}
		if len(causes) > 0 {
			e.Err = causes[0]
		}
		return e
	case k >= 0 && k < len(known):
		if f.Text == known[k].Error() {
			return known[k]
		}
		causes = []error{known[k]}
	}
	return &carried{strings.ToValidUTF8(f.Text, "\uFFFD"), causes}
}

// carried is an error of another process.
type carried struct {
	text   string
	causes []error
}

// Error returns the text that it had there.
func (e *carried) Error() string { return e.text }

// Unwrap returns its causes.
func (e *carried) Unwrap() []error { return e.causes }

// LostError is that the connection broke before the answer came: the holder is
// gone, or has let the store go.
type LostError struct {
	// Sent says that the request may have reached the holder: a write may have been
	// done.
	Sent bool
	// Err is what broke.
	Err error
}

// Error says what was lost.
func (e *LostError) Error() string { return "lost the process that holds the store: " + e.Err.Error() }

// Unwrap makes it an ErrUnavailable.
func (e *LostError) Unwrap() error {
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "the process that holds the store is gone", Err: e.Err, Try: "Try again."}
}

// Lost reports whether an error is that the connection broke, and whether the
// request may have been served all the same.
func Lost(err error) (sent, ok bool) {
	var l *LostError
	if !errors.As(err, &l) {
		return false, false
	}
	return l.Sent, true
}
