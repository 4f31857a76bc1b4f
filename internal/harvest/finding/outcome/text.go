package outcome

import (
	"strings"

	"github.com/tidwall/gjson"
)

// textKeys are the fields of a structured result that hold the output of a
// command, errors first.
var textKeys = []string{"stderr", "error", "error.message", "output", "stdout", "content.0.text", "message", "result"}

// Text extracts the output of a command from a structured result, which is a JSON
// object that holds it in a field with a usual name. Any other output is returned
// unchanged.
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
