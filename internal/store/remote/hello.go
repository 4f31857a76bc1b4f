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
	Oldest int    `json:"oldest,omitempty"` // oldest version that the client understands; 0 means Ken
	Forms  string `json:"forms"`            // fingerprint of its schema
	Owner  string `json:"owner"`
	Token  string `json:"token"`
}

// welcome is the server's answer to a hello. The server sends any number of them while the
// store is being opened. The last one has Ready or Refused set.
type welcome struct {
	Ken    int    `json:"ken"`
	Oldest int    `json:"oldest,omitempty"`
	Forms  string `json:"forms"`

	// Version and Schema describe the server's program to a client with other Forms. The
	// client answers a Schema with an introduction.
	Version string          `json:"version,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`

	Ready bool   `json:"ready,omitempty"`
	Owner string `json:"owner,omitempty"`
	Store string `json:"store,omitempty"` // the store's id
	Stage string `json:"stage,omitempty"` // with Done and Total: progress of opening the store
	Done  int    `json:"done,omitempty"`
	Total int    `json:"total,omitempty"`

	Refused *refusal `json:"refused,omitempty"`
}

// refusal is the reason why a client is not served; its fields are those of ken.Error.
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

// receiveJSON reads a frame and decodes it into v. Another kind is an error.
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
