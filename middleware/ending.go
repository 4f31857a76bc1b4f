package middleware

import (
	"bytes"
	"encoding/json"
)

// ending finds the end of a Responses answer before the response is over. A client
// may go on from an answer as soon as it knows it whole, while the connection is
// still to be closed, and what it goes on from must be known by then.
type ending struct {
	length int64 // of the body, below 0 when it is not known
	near   bool  // a last event has begun
	tries  int
}

// maxTries bounds how often a body without a length is looked at as a whole.
const maxTries = 4

// Last events of a stream, at the beginning of a line: where no text of a model's
// can stand.
var lastEvents = [][]byte{[]byte("\nevent: response.completed"), []byte("\nevent: response.incomplete")}

// reached reports whether what was kept is whole, added bytes of it for the first
// time.
func (e *ending) reached(kept []byte, added int) bool {
	switch {
	case int64(len(kept)) == e.length:
		return true
	case e.length >= 0 || added == 0:
		return false
	}
	last := kept[len(kept)-1]
	if kept[0] == '{' {
		if last != '}' && last != '\n' || e.tries == maxTries {
			return false
		}
		e.tries++
		return json.Valid(kept)
	}
	if !e.near {
		for _, event := range lastEvents {
			e.near = e.near || bytes.Contains(kept[max(0, len(kept)-added-len(event)):], event)
		}
	}
	return e.near && (bytes.HasSuffix(kept, []byte("\n\n")) || bytes.HasSuffix(kept, []byte("\r\n\r\n")))
}
