package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
)

// Program answers one prompt as Echo does. It is for a program that reads the prompt from its
// standard input and prints the answer. It returns the exit status.
func Program(in io.Reader, out io.Writer) int {
	prompt, err := io.ReadAll(in)
	if err != nil {
		return 1
	}
	at := strings.Index(string(prompt), "----- transcript -----\n")
	if at < 0 {
		return 1
	}
	req := Request{Messages: []Message{{Role: "system", Content: string(prompt[:at])}, {Role: "user", Content: string(prompt[at:])}}}
	w := httptest.NewRecorder()
	Echo()(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", http.NoBody), &req)
	var answer struct {
		Choices []struct{ Message Message }
	}
	if json.Unmarshal(w.Body.Bytes(), &answer) != nil || len(answer.Choices) == 0 {
		return 1
	}
	fmt.Fprintln(out, answer.Choices[0].Message.Content)
	return 0
}
