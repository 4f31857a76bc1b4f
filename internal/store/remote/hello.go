package remote

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/kenlayer/ken"
)

// hello is the client's first frame.
type hello struct {
	Ken    int    `json:"ken"`              // version of the protocol
	Oldest int    `json:"oldest,omitempty"` // that it understands; 0 for no older one
	Forms  string `json:"forms"`            // fingerprint of its schema
	Owner  string `json:"owner"`
	Token  string `json:"token"`
}

// welcome answers it: any number of times that the store is being opened, then once
// that it is ready, or why the client is refused.
type welcome struct {
	Ken    int    `json:"ken"`
	Oldest int    `json:"oldest,omitempty"`
	Forms  string `json:"forms"`

	// For a client whose Forms are others: the version of this program, and its schema. The
	// client answers with an introduction.
	Version string          `json:"version,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`

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
