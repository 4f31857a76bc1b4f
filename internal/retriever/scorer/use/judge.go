package use

import (
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
)

// Exchange is one turn, as far as it is known.
type Exchange struct {
	Items  []ken.Item    // items of the block, with their texts as injected
	Before []ken.Message // the other messages that the model read, up to and including the user's message
	Answer []ken.Message // the model's messages in the turn, and the results of its tools
	Next   string        // the user's next message; "" if unknown
}

// Bounds in bytes of what is read: the newest part of Before, and the whole Answer.
const (
	maxBefore = 16 << 10
	maxAnswer = 64 << 10
	maxNext   = 2 << 10
)

// Judge returns for each item how the answer used it, in the order of the items; nil if the model
// sent no message. It takes about a microsecond per word.
func Judge(x Exchange) []ken.Use {
	if !answered(x.Answer) {
		return nil
	}
	r := newReading(x.Items)
	room := maxBefore
	for i := len(x.Before) - 1; i >= 0 && room > 0; i-- {
		text := prefix(x.Before[i].Text, room)
		room -= len(text)
		r.known(text)
		r.names.known(text, x.Before[i].Role != "assistant")
	}
	out := make([]ken.Use, len(x.Items))
	for i := range out {
		out[i].ID = x.Items[i].ID
	}
	room = maxAnswer
	for i := range x.Answer {
		m := &x.Answer[i]
		text := prefix(m.Text, room)
		room -= len(text)
		if m.Role != "assistant" {
			r.known(text)
			r.names.known(text, true)
			continue
		}
		text = guardrail.StripReasoning(text)
		r.readAnswer(text)
		for _, item := range r.names.cited(text) {
			out[item].Cited = true
		}
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			items := r.called(c.Arguments)
			if len(items) == 0 || !succeeded(x.Answer[i+1:], c, j) {
				continue
			}
			for _, item := range items {
				out[item].ToolOK = true
			}
		}
	}
	r.tally()
	for i := range out {
		out[i].Repeated = r.repeats(i)
	}
	for _, item := range corrected(x.Next, out, r) {
		out[item].Corrected = true
	}
	return out
}

func answered(msgs []ken.Message) bool {
	for i := range msgs {
		if msgs[i].Role == "assistant" && (strings.TrimSpace(msgs[i].Text) != "" || len(msgs[i].ToolCalls) > 0) {
			return true
		}
	}
	return false
}

func prefix(text string, most int) string { return text[:min(len(text), max(most, 0))] }

// succeeded reports whether the messages in after contain a successful result of the call. number
// is the index of the call in its message, for results without an id.
func succeeded(after []ken.Message, c *ken.ToolCall, number int) bool {
	for i := range after {
		m := &after[i]
		if m.Role == "assistant" || m.Role == "user" {
			return false
		}
		if m.ToolCallID != "" && m.ToolCallID != c.ID || m.ToolCallID == "" && i != number {
			continue
		}
		return !failed(m.Text)
	}
	return false
}

// failed reports whether the result of a tool call says that the call failed.
func failed(result string) bool {
	text := strings.ToLower(strings.TrimSpace(result))
	start := prefix(text, 200)
	for _, p := range []string{"error", "failed", "failure", "fatal", "traceback", "panic:", "exception", `{"error"`, `{"is_error":true`, "permission denied", "command not found", "--- fail"} {
		if strings.HasPrefix(start, p) {
			return true
		}
	}
	for _, p := range []string{"traceback (most recent call last)", "\npanic: ", "no such file or directory", "command not found", "\nfail\t", "--- fail:", "permission denied", `"is_error":true`,
		`"is_error": true`, "connection refused", "\nerror: ", "exception in thread"} {
		if strings.Contains(text, p) {
			return true
		}
	}
	for _, p := range []string{"exit code", "exit status", "exited with code", "exited with", `"exit_code"`} {
		_, rest, ok := strings.Cut(text, p)
		if code := strings.TrimLeft(rest, ": =\"'"); ok && code != "" && code[0] >= '1' && code[0] <= '9' {
			return true
		}
	}
	return false
}
