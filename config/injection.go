package config

// As says what form the block takes in the request.
type As string

// Forms of the block.
const (
	AsMessage As = "message" // a user message of its own, before the last one
	AsMerge   As = "merge"   // at the head of the last user message
)

// Injection is how the block reaches the model.
type Injection struct {
	As     As   // the form of the block
	Sticky bool // keep earlier blocks where they were
}

func (i *Injection) keys() []key {
	return []key{
		bind("as", &i.As, AsMessage, choice(AsMessage, AsMerge),
			"message puts the block into a user message before the turn's last one, and, for models that turn out to refuse two "+
				"user messages in a row, at the head of that message; merge always does the latter."),
		bind("sticky", &i.Sticky, true, flag(),
			"Repeat earlier blocks at the same place, byte for byte, so that the provider's prompt cache keeps working, and add "+
				"only what is new. false composes a fresh block for every request."),
	}
}
