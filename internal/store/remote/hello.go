package remote

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/remote/codec"
)

// hello is the client's first frame.
type hello struct {
	Ken   int    `json:"ken"`   // version of the protocol
	Forms string `json:"forms"` // fingerprint of the messages' types
	Owner string `json:"owner"`
	Token string `json:"token"`
}

// welcome answers it: any number of times that the store is being opened, then once
// that it is ready, or why the client is refused.
type welcome struct {
	Ken   int    `json:"ken"`
	Forms string `json:"forms"`

	Ready bool   `json:"ready,omitempty"`
	Owner string `json:"owner,omitempty"`
	Store string `json:"store,omitempty"` // its id
	Stage string `json:"stage,omitempty"` // while it is being opened: what is done, and how far
	Done  int    `json:"done,omitempty"`
	Total int    `json:"total,omitempty"`

	Refused *refusal `json:"refused,omitempty"`
}

// refusal says why a client is not served.
type refusal struct {
	Code  ken.Code `json:"code"`
	Field string   `json:"field,omitempty"`
	Msg   string   `json:"msg"`
	Try   string   `json:"try,omitempty"`
}

// fingerprint is of the messages' types.
var fingerprint = sync.OnceValue(func() string { return fmt.Sprintf("%016x", codec.Fingerprint(forms...)) })

func sendJSON(w io.Writer, kind byte, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return sendFrame(w, kind, append(startFrame(nil), b...))
}

// receiveJSON reads a frame of this kind.
func receiveJSON(r io.Reader, kind byte, v any) error {
	f, err := readFrame(r, maxHello)
	if err != nil {
		return err
	}
	if f.kind != kind {
		return fmt.Errorf("a frame of kind %q, not %q", f.kind, kind)
	}
	return json.Unmarshal(f.body, v)
}

// check compares what two sides speak.
func (w *welcome) check() error {
	if w.Ken != version || w.Forms != fingerprint() {
		return &ken.Error{Code: ken.CodeHeld, Field: "version", Msg: "the store is held by a process of another version of ken",
			Try: "Stop that process, or use the same version."}
	}
	return nil
}
