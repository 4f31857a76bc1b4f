package remote_test

import (
	"context"
	"errors"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/internal/store/remote/remotetest"
	"github.com/kenlayer/ken/store/storetest"
)

// TestEvents checks that the program handles events, that its answers and errors are returned,
// and that a client without the token is refused.
func TestEvents(t *testing.T) {
	so := remote.ServerOptions{OnEvent: func(_ context.Context, body []byte) ([]byte, error) {
		if string(body) == "bad" {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: "event", Msg: "is bad", Try: "Send another."}
		}
		return append([]byte("heard "), body...), nil
	}}
	t.Run("of this build", func(t *testing.T) { testEvents(t, serve(t, storetest.Options{}, so)) })
	t.Run("of another build", func(t *testing.T) {
		s, _ := between(t, storetest.Options{}, so, remotetest.Options{Schema: remotetest.Own().Later(), Version: "v9"})
		testEvents(t, s)
	})
}

func testEvents(t *testing.T, s *served) {
	send := func(owner, body string) (string, error) {
		out, err := remote.SendEvent(t.Context(), "unix", s.socket, remote.Options{Owner: owner}, []byte(body))
		return string(out), err
	}
	if out, err := send(ken.DefaultOwner, "a"); err != nil || out != "heard a" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := send(ken.DefaultOwner, "bad"); !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) != "Send another." {
		t.Errorf("the program's error: %v", err)
	}
	if _, err := send("mallory", "a"); !errors.Is(err, ken.ErrRefused) {
		t.Errorf("another owner: %v", err)
	}
	if _, err := remote.SendEvent(t.Context(), "unix", s.socket+".none", remote.Options{}, nil); err == nil {
		t.Error("nobody answered an event")
	} else if sent, lost := remote.Lost(err); sent || !lost {
		t.Errorf("nobody is there: %v", err)
	}
	deaf := serve(t, storetest.Options{}, remote.ServerOptions{})
	if _, err := remote.SendEvent(t.Context(), "unix", deaf.socket, remote.Options{Owner: ken.DefaultOwner}, nil); !errors.Is(err, ken.ErrRefused) {
		t.Errorf("a program that answers no events: %v", err)
	}
}
