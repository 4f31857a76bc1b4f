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

// MaxAnswerBytes is the maximum size of an answer that is kept, compressed or not. A longer answer
// is journaled when it comes back in the next request, or not at all.
const MaxAnswerBytes = 4 << 20

// ContentEncoding returns the Content-Encoding of a header in lower case; "" if there is none.
func ContentEncoding(h http.Header) string {
	return strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding")))
}

// IsEncoded reports whether a body with this encoding must be decoded.
func IsEncoded(encoding string) bool { return encoding != "" && encoding != "identity" }

// CanDecode reports whether Decode supports an encoding. http.Transport decodes gzip itself, unless
// the client asked for it.
func CanDecode(encoding string) bool {
	switch encoding {
	case "gzip", "x-gzip", "deflate":
		return true
	}
	return !IsEncoded(encoding)
}

// Decode decodes a body, which may be incomplete. It returns nil if the result is longer than
// MaxAnswerBytes.
func Decode(body []byte, encoding string) []byte {
	out := decodePrefix(body, encoding, MaxAnswerBytes+1)
	if len(out) > MaxAnswerBytes {
		return nil
	}
	return out
}

// DecodeBeginning decodes the part of a body that is needed for AnswerID.
func DecodeBeginning(body []byte, encoding string) []byte {
	return decodePrefix(body, encoding, 64<<10)
}

// decodePrefix decodes at most limit bytes of a body. It returns a body without an encoding
// unchanged.
func decodePrefix(body []byte, encoding string, limit int64) []byte {
	if !IsEncoded(encoding) {
		return body
	}
	var z io.Reader
	var err error
	if encoding == "deflate" {
		// Many servers send deflate without the zlib header that the name stands for.
		if z, err = zlib.NewReader(bytes.NewReader(body)); err != nil {
			z, err = flate.NewReader(bytes.NewReader(body)), nil
		}
	} else {
		z, err = gzip.NewReader(bytes.NewReader(body))
	}
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(io.LimitReader(z, limit)) // an error means that the body is incomplete
	return out
}

// EndDetector detects the end of a Responses answer before the HTTP response ends. A client may
// send the next request as soon as it has the answer, while the connection is still open, and the
// layer must know the answer by then.
type EndDetector struct {
	Length       int64 // Content-Length of the body; below 0 if unknown
	sawLastEvent bool  // a final event has begun
	tries        int
}

// maxTries is how often a body of unknown length is parsed completely.
const maxTries = 4

// lastEvents are the final events of a stream, after a line break. A model's text can't contain
// them.
var lastEvents = [][]byte{[]byte("\nevent: response.completed"), []byte("\nevent: response.incomplete")}

// Reached reports whether kept is a complete answer. added is the number of new bytes at its end.
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
