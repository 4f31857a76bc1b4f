package ken_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/kenlayer/ken"
)

func TestErrorText(t *testing.T) {
	for _, tt := range []struct {
		err  ken.Error
		want string
	}{
		{ken.Error{Code: ken.CodeInvalid, Field: "text", Msg: "empty"}, "text: empty"},
		{ken.Error{Code: ken.CodeNotFound, Msg: "no claim 7"}, "no claim 7"},
		{ken.Error{Code: ken.CodeCorrupt, Msg: "read event 7", Err: io.EOF}, "read event 7: EOF"},
		{ken.Error{Code: ken.CodeInvalid, Field: "body", Err: io.EOF}, "body: EOF"},
		{ken.Error{Code: ken.CodeHeld}, "held"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestErrorIsByCode(t *testing.T) {
	sentinels := map[ken.Code]*ken.Error{
		ken.CodeInvalid: ken.ErrInvalid, ken.CodeNotFound: ken.ErrNotFound, ken.CodeExists: ken.ErrExists,
		ken.CodeRefused: ken.ErrRefused, ken.CodeHeld: ken.ErrHeld, ken.CodeCorrupt: ken.ErrCorrupt,
		ken.CodeUnavailable: ken.ErrUnavailable,
	}
	for code, own := range sentinels {
		err := fmt.Errorf("read claim: %w", &ken.Error{Code: code, Field: "id", Msg: "bad", Try: "Look.", Err: io.EOF})
		for other, s := range sentinels {
			if got, want := errors.Is(err, s), code == other; got != want {
				t.Errorf("%s is %s: %v", code, other, got)
			}
		}
		if !errors.Is(err, own) || !errors.Is(err, io.EOF) {
			t.Errorf("%s: sentinel or cause is lost", code)
		}
	}
}

// Only a bare sentinel matches every error of its code; an error with a message matches
// only itself.
func TestErrorIsNotAnyOfItsCode(t *testing.T) {
	empty := &ken.Error{Code: ken.CodeInvalid, Field: "text", Msg: "empty"}
	if other := (&ken.Error{Code: ken.CodeInvalid, Msg: "too long"}); other.Is(empty) || ken.ErrInvalid.Is(empty) {
		t.Error("two different faults of one code compare as equal")
	}
	if !errors.Is(empty, empty) {
		t.Error("an error must be itself")
	}
}

func TestHint(t *testing.T) {
	inner := &ken.Error{Code: ken.CodeInvalid, Try: "Set path."}
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"nil", nil, ""},
		{"plain", io.EOF, ""},
		{"own", inner, "Set path."},
		{"wrapped", fmt.Errorf("import: %w", inner), "Set path."},
		{"outermost wins", &ken.Error{Try: "Outer.", Err: inner}, "Outer."},
		{"below one without advice", &ken.Error{Msg: "refused", Err: fmt.Errorf("x: %w", inner)}, "Set path."},
		{"nobody has any", &ken.Error{Err: &ken.Error{Err: io.EOF}}, ""},
	} {
		if got := ken.Hint(tt.err); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
