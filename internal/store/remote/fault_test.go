package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/remote/codec"
)

// An error says the same on the other side, to people and to programs.
func TestErrorsCross(t *testing.T) {
	inner := &ken.Error{Code: ken.CodeInvalid, Field: "path", Msg: "empty", Try: "Name it."}
	for _, err := range []error{
		nil,
		errors.New("plain"),
		inner,
		&ken.Error{Code: ken.CodeInvalid, Field: "evidence[0]", Msg: "refused", Err: inner},
		fmt.Errorf("search keywords: %w", &ken.Error{Code: ken.CodeUnavailable, Msg: "down", Try: "Wait.", Err: errors.New("dial")}),
		context.Canceled,
		context.DeadlineExceeded,
		fmt.Errorf("embed: %w", context.DeadlineExceeded),
		errors.Join(errors.New("one"), ken.ErrNotFound, fmt.Errorf("three: %w", ken.ErrHeld)),
		&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES},
		fmt.Errorf("open store: %w", &fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT}),
		errors.New("caf\xe9"),
	} {
		f := toFault(err)
		var back *fault
		if wrong := codec.Decode(codec.Append(nil, &f), &back); wrong != nil {
			t.Fatal(wrong)
		}
		got := back.err()
		if (err == nil) != (got == nil) {
			t.Errorf("%v became %v", err, got)
		}
		if err == nil {
			continue
		}
		if got.Error() != err.Error() && err.Error() != "caf\xe9" || ken.Hint(got) != ken.Hint(err) {
			t.Errorf("%q (%q) became %q (%q)", err, ken.Hint(err), got, ken.Hint(got))
		}
		for _, is := range []error{ken.ErrInvalid, ken.ErrNotFound, ken.ErrHeld, ken.ErrUnavailable, ken.ErrCorrupt, context.Canceled,
			context.DeadlineExceeded, fs.ErrPermission, fs.ErrNotExist} {
			if errors.Is(err, is) != errors.Is(got, is) {
				t.Errorf("%v is %v: %v, and afterwards %v", err, is, errors.Is(err, is), errors.Is(got, is))
			}
		}
		var was, is *ken.Error
		if errors.As(err, &was) && (!errors.As(got, &is) || was.Code != is.Code || was.Field != is.Field || was.Msg != is.Msg) {
			t.Errorf("%+v became %+v", was, is)
		}
	}
}

func TestADeepErrorIsCutOff(t *testing.T) {
	err := errors.New("the root")
	for range 1000 {
		err = fmt.Errorf("x: %w", err)
	}
	if got := toFault(err).err(); got.Error() != err.Error() {
		t.Errorf("%d bytes became %d", len(err.Error()), len(got.Error()))
	}
}
