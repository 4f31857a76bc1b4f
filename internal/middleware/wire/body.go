package wire

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// MaxAnswerBytes bounds the answers that are kept whole, compressed or not. A longer one is
// journaled when it comes back in the next request, or not at all.
const MaxAnswerBytes = 4 << 20

// ContentEncoding returns the encoding that a header names, in lower case; "" for none.
func ContentEncoding(h http.Header) string {
	return strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding")))
}

// IsEncoded reports whether a body of an encoding has to be decoded.
func IsEncoded(encoding string) bool { return encoding != "" && encoding != "identity" }

// CanDecode reports whether an encoding can be decoded. http.Transport decodes gzip by itself
// unless the client asked for it.
func CanDecode(encoding string) bool {
	switch encoding {
	case "gzip", "x-gzip", "deflate":
		return true
	}
	return !IsEncoded(encoding)
}

// Decode decodes a body as far as it came. A body that grows too long gives nil.
func Decode(body []byte, encoding string) []byte {
	out := decodePrefix(body, encoding, MaxAnswerBytes+1)
	if len(out) > MaxAnswerBytes {
		return nil
	}
	return out
}

// DecodeBeginning decodes as much of a body as is needed for the answer's id.
func DecodeBeginning(body []byte, encoding string) []byte {
	return decodePrefix(body, encoding, 64<<10)
}

// decodePrefix decodes at most limit bytes of a body. A body without an encoding is returned as
// it is.
func decodePrefix(body []byte, encoding string, limit int64) []byte {
	if !IsEncoded(encoding) {
		return body
	}
	var z io.Reader
	var err error
	if encoding == "deflate" {
		// The header that the name stands for is missing as often as not.
		if z, err = zlib.NewReader(bytes.NewReader(body)); err != nil {
			z, err = flate.NewReader(bytes.NewReader(body)), nil
		}
	} else {
		z, err = gzip.NewReader(bytes.NewReader(body))
	}
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(io.LimitReader(z, limit)) // an error means that it broke off
	return out
}

// EndDetector finds the end of a Responses answer before the response is over. A client may
// continue from an answer as soon as it has it, while the connection is still open, and the
// layer must know the answer by then.
type EndDetector struct {
	Length       int64 // of the body; below 0 if it is unknown
	sawLastEvent bool  // a last event has begun
	tries        int
}

// maxTries bounds how often a body without a length is parsed whole.
const maxTries = 4

// lastEvents are last events of a stream at the beginning of a line, where no text of a model
// can stand.
var lastEvents = [][]byte{[]byte("\nevent: response.completed"), []byte("\nevent: response.incomplete")}

// Reached reports whether the kept bytes are complete, of which added bytes are new.
func (e *EndDetector) Reached(kept []byte, added int) bool {
	switch {
	case int64(len(kept)) == e.Length:
		return true
	case e.Length >= 0 || added == 0:
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
	if !e.sawLastEvent {
		for _, event := range lastEvents {
			e.sawLastEvent = e.sawLastEvent || bytes.Contains(kept[max(0, len(kept)-added-len(event)):], event)
		}
	}
	return e.sawLastEvent && (bytes.HasSuffix(kept, []byte("\n\n")) || bytes.HasSuffix(kept, []byte("\r\n\r\n")))
}
