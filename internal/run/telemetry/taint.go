package telemetry

import "time"

// Taint says that a tool call of an answer repeats what an external claim said. The
// field names are a contract, like those of ContextAssembly. It does not quote.
type Taint struct {
	Event     string    `json:"event"` // "taint"
	Timestamp time.Time `json:"timestamp"`
	SessionID string    `json:"session_id"`
	Turn      string    `json:"turn"`

	Tool   string `json:"tool"`
	Call   string `json:"call"` // the tool call's id
	Claim  string `json:"claim"`
	Chars  int    `json:"chars"`  // code points of the longest span repeated
	Action string `json:"action"` // flag or block
}
