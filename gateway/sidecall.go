package gateway

import (
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// sideCall describes a kind of call that a program makes for its own purposes, beside the
// conversation with its user, such as a request for a title. Such a call needs no knowledge, and
// nothing is learned from it. A call matches if it meets every condition that is set. A false match
// would deprive a user of knowledge, so each kind requires words that only the program writes.
type sideCall struct {
	kind  string
	agent string // wire.Names.Agent; "" for any program

	instructions string // a line of the instructions begins with this
	asks         string // the last user message begins with this
	json         bool   // the answer must be JSON
	tokens       int    // maximum of the answer's token limit
	bytes        int    // maximum size of the conversation
	opens        bool   // the conversation has no answer yet
}

// sideCalls lists side calls by what programs send. testdata/sidecalls has recordings of the
// programs that can run headless; the others were taken from the programs' sources.
var sideCalls = []sideCall{
	{kind: "title", agent: "claude-code", instructions: "Generate a concise, sentence-case title (3-7 words)"},
	{kind: "title", agent: "claude-code", instructions: "Generate a short kebab-case name (2-4 words)"},
	{kind: "title", agent: "claude-code", instructions: "You are coming up with a succinct title and git branch name"},
	{kind: "summary", agent: "claude-code", instructions: "You are a helpful AI assistant tasked with summarizing conversations."},
	{kind: "page", agent: "claude-code", asks: "Web page content:", opens: true},
	{kind: "quota", agent: "claude-code", tokens: 1, bytes: 16, opens: true},
	{kind: "summary", agent: "codex", asks: "You are performing a CONTEXT CHECKPOINT COMPACTION."},
	{kind: "title", agent: "opencode", instructions: "You are a title generator. You output ONLY a thread title."},
	{kind: "title", agent: "qwen-code", instructions: "Generate a short kebab-case name (2-4 words)"},
	{kind: "title", agent: "qwen-code", instructions: "Generate a concise, sentence-case title (3-7 words)"},
	{kind: "summary", agent: "qwen-code", asks: "Please analyze the conversation history above and generate a comprehensive project summary"},
	{kind: "summary", agent: "qwen-code", instructions: "You are the component that summarizes internal chat history into a given structure."},
	{kind: "summary", agent: "gemini-cli", instructions: "You are the component that summarizes internal chat history into a given structure."},
	{kind: "summary", instructions: "*Briefly* summarize this partial conversation about programming."},                                                  // Aider
	{kind: "commit", instructions: "You are an expert software engineer that generates concise, one-line Git commit messages"},                           // Aider
	{kind: "title", asks: "Given the following... please reply with a title for the chat that is 3-4 words in length"},                                   // Continue
	{kind: "summary", instructions: "Summarize the provided coding session into a concise continuation note"},                                            // Cline
	{kind: "summary", instructions: "You are a context summarization assistant. Your task is to read a conversation between a user and an AI coding"},    // pi
	{kind: "title", asks: "### Task:\nGenerate a concise, 3-5 word title"},                                                                               // Open WebUI
	{kind: "tags", asks: "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history"},                                          // Open WebUI
	{kind: "suggestion", asks: "### Task:\nSuggest 3-5 relevant follow-up questions or prompts"},                                                         // Open WebUI
	{kind: "title", asks: "Provide a concise, 5-word-or-less title for the conversation, using title case conventions."},                                 // LibreChat
	{kind: "title", instructions: "- you will generate a short title based on the first message a user begins a conversation with"},                      // the AI SDK's chatbot
	{kind: "summary", asks: "Progressively summarize the lines of conversation provided, adding onto the previous summary"},                              // LangChain
	{kind: "extraction", instructions: "You are a Personal Information Organizer, specialized in accurately storing facts"},                              // mem0
	{kind: "extraction", instructions: "Extract ", json: true, opens: true}, {kind: "extraction", instructions: "You extract ", json: true, opens: true}, // scripts
}

// markBytes is how much of the beginning of a text is searched for the words of a side call.
const markBytes = 16 << 10

// sideCallOf returns the kind of a side call; "" for other calls. A call that offers tools or
// continues an earlier response is never a side call.
func sideCallOf(r *wire.Request, agent string) string {
	if r.Tools > 0 || r.Previous != "" {
		return ""
	}
	for i := range sideCalls {
		if s := &sideCalls[i]; (s.agent == "" || s.agent == agent) && s.is(r) {
			return s.kind
		}
	}
	return ""
}

func (s *sideCall) is(r *wire.Request) bool {
	if s.json && !r.JSON || s.tokens > 0 && (r.MaxTokens == 0 || r.MaxTokens > s.tokens) {
		return false
	}
	instructed, size, last := s.instructions == "", 0, -1
	for i := range r.Messages {
		m := &r.Messages[i]
		switch m.Role {
		case "system", "developer":
			instructed = instructed || hasLine(m, s.instructions)
			continue
		case "user":
			last = i
		default:
			if s.opens {
				return false
			}
		}
		size += len(m.Text)
	}
	if !instructed || last < 0 || s.bytes > 0 && size > s.bytes {
		return false
	}
	return s.asks == "" || begins(&r.Messages[last], s.asks)
}

func hasLine(m *ken.Message, mark string) bool {
	text := m.Text[:min(len(m.Text), markBytes)]
	if !strings.Contains(text, mark) {
		return false
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), mark) {
			return true
		}
	}
	return false
}

func begins(m *ken.Message, mark string) bool {
	return strings.HasPrefix(strings.TrimSpace(m.Text[:min(len(m.Text), markBytes)]), mark)
}
