package ken

// Message is one message of a conversation, as far as the layer looks at it.
// Adapters keep the wire form; the layer never re-encodes what it did not add.
type Message struct {
	Role       string     // system, developer, user, assistant, tool
	Name       string     // optional participant name
	Text       string     // the textual content; text parts joined by newlines
	Parts      []Part     // set when the content is an array of parts
	ToolCalls  []ToolCall // calls made by an assistant message
	ToolCallID string     // the call that a tool message answers
}

// Part is one element of a message's content array.
type Part struct {
	Type string // text, image_url, input_audio, …
	Text string // for text parts
	Ref  string // anything that identifies a non-text part: its raw JSON or a digest of it
}

// ToolCall is a call that an assistant message asks for.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON as the model wrote it
}
