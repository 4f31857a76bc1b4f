package outcome

import (
	"strings"

	"github.com/tidwall/gjson"
)

// textKeys are the fields of a structured result that hold what a command printed,
// what went wrong first.
var textKeys = []string{"stderr", "error", "error.message", "output", "stdout", "content.0.text", "message", "result"}

// Text returns what a command printed out of a structured result: one JSON object
// that holds it in a field of a usual name. Any other output is returned as it is.
func Text(output string) string {
	text := strings.TrimSpace(output)
	if !strings.HasPrefix(text, "{") || !gjson.Valid(text) {
		return output
	}
	v := gjson.Parse(text)
	var parts []string
	for _, k := range textKeys {
		if t := v.Get(k); t.Type == gjson.String && t.Str != "" {
			parts = append(parts, t.Str)
		}
	}
	if parts == nil {
		return output
	}
	return strings.Join(parts, "\n")
}
