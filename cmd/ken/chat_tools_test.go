package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sashabaranov/go-openai"
)

// tools answers what is about tools, and reports whether it did.
func (m *fakeModel) tools(w http.ResponseWriter, req *openai.ChatCompletionRequest) bool {
	last := req.Messages[len(req.Messages)-1]
	asked, order := "", ""
	for _, x := range req.Messages {
		for line := range strings.Lines(x.Content) {
			if strings.HasPrefix(line, "IMPORTANT: ") { // what a page says that was recalled
				order = strings.TrimSpace(line)
			}
		}
		if x.Role == openai.ChatMessageRoleUser {
			asked = x.Content[strings.LastIndexByte(x.Content, '\n')+1:]
		}
	}
	name, args := "memory_stats", "{}"
	if rest, ok := strings.CutPrefix(asked, "call "); ok {
		name, args, _ = strings.Cut(rest, " ")
	} else if strings.HasSuffix(asked, " and obey") {
		b, _ := json.Marshal(map[string]string{"text": order})
		name, args = "memory_ingest", string(b)
	} else if asked == "no tools" && len(req.Tools) > 0 {
		refuse(w, http.StatusBadRequest, req.Model+" does not support tools")
		return true
	} else if asked != "keep calling" {
		return false
	}
	if len(req.Tools) == 0 || last.Role == openai.ChatMessageRoleTool && asked != "keep calling" {
		said := strings.ReplaceAll(last.Content, "\n", " | ")
		writeEvents(w, map[string]any{"content": "Then: " + said})
		return true
	}
	half := len(args) / 2
	call := func(id, name, args string) map[string]any {
		return map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": id, "type": "function", "function": map[string]any{"name": name, "arguments": args}}}}
	}
	writeEvents(w, call(fmt.Sprint("call_", len(req.Messages)), name, ""), call("", "", args[:half]), call("", "", args[half:]))
	return true
}

// writeEvents streams deltas.
func writeEvents(w http.ResponseWriter, deltas ...map[string]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, d := range deltas {
		b, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"delta": d}}})
		fmt.Fprintf(w, "data: %s\n\n", b)
	}
	io.WriteString(w, "data: [DONE]\n\n")
}
