package wire_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/middleware/wire"
)

func TestDialectOf(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/chat/completions":                   "chat",
		"/openai/deployments/d/chat/completions": "chat",
		"/v1/responses":                          "responses",
		"/v1/messages":                           "messages",
		"/v1/chat/completions/cmpl-1":            "",
		"/v1/responses/resp_1":                   "",
		"/v1/responses/resp_1/cancel":            "",
		"/v1/responses/compact":                  "",
		"/v1/messages/count_tokens":              "",
		"/v1/messages/batches":                   "",
		"/v1/threads/thread_1/messages":          "",
		"/v1/chat/completions/":                  "chat",
		"/v1/messages//":                         "messages",
		"/api/chat":                              "ollama",
		"/api/chat/":                             "ollama",
		"/api/chats":                             "",
		"/api/generate":                          "",
		"/v1/embeddings":                         "",
		"":                                       "",
		"chat/completions":                       "",
		"/v1/nochat/completions":                 "",
		"/v1/messagesx":                          "",
		"/v1/x/chat/completions/../../threads/t/x/messages": "",
	} {
		d, ok := wire.DialectOf(path)
		if got := d.String(); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %s, %v", path, got, ok)
		}
	}
}
