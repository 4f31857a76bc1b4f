package jsonl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/kenlayer/ken"
)

// line is the written form of a claim.
type line struct {
	ken.Claim
	History []ken.ClaimEvent `json:"history,omitempty"`
}

// Write writes a claim and its history, which may be nil, as one line, in one
// call to w. It fails with ErrInvalid when the line would be longer than Read
// accepts.
func Write(w io.Writer, c ken.Claim, history []ken.ClaimEvent) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(line{c, history}); err != nil {
		return fmt.Errorf("encode claim %s: %w", c.ID, err)
	}
	if b.Len()-1 > MaxLine {
		return &ken.Error{Code: ken.CodeInvalid, Field: "body",
			Msg: fmt.Sprintf("claim %s takes %d bytes; a line holds at most %d", c.ID, b.Len()-1, MaxLine),
			Try: "Export it without its history, or move what is large out of its body."}
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write claim %s: %w", c.ID, err)
	}
	return nil
}
