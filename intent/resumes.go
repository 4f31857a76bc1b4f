package intent

import "github.com/kenlayer/ken"

// goingOn are the words of small talk that ask to go on with what was begun.
var goingOn = set(`continue proceed carry keep going go next`)

// resumes reports small talk that asks to go on.
func resumes(words []word) bool {
	for i := range words {
		if goingOn[words[i].low] {
			return true
		}
	}
	return false
}

// answered reports whether anything was answered before: then going on means this
// conversation.
func answered(messages []ken.Message) bool {
	for i := range messages {
		if r := messages[i].Role; r == "assistant" || r == "tool" {
			return true
		}
	}
	return false
}
