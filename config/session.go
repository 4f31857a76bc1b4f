package config

import "time"

// Session is when a conversation is over, and how much of it is kept until then.
type Session struct {
	Idle         time.Duration // without a message, after which it is over
	MessageBytes int           // of a message that the journal keeps
	Receipts     int           // of turns that are kept
}

func (s *Session) keys() []key {
	return []key{
		bind("idle", &s.Idle, 30*time.Minute, span(time.Minute, 30*24*time.Hour),
			"A session without a message for this long is over, and is harvested. One that goes on later is harvested again."),
		bind("message_bytes", &s.MessageBytes, 16<<10, whole(1<<10, 1<<20),
			"What the journal keeps of one message, in bytes; of a longer one, its beginning and end.").judged(less("how much of conversations is kept")),
		bind("receipts", &s.Receipts, 2000, whole(0, 100_000),
			"How many receipts of turns are kept for each owner, the newest; 0 keeps none. They say what was injected and why, in ids "+
				"and figures, without the words of claims. None is kept longer than lifecycle.yaml has the messages of a session kept.").judged(less("how much of conversations is kept")),
	}
}
