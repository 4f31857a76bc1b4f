// Package session keeps the messages of a session until they are harvested. It also
// has the handle through which a program learns, recalls, verifies and disputes
// claims.
//
// A [Journal] is durable and belongs to one owner. Clients send the whole
// conversation with every request; Append stores the messages that are new, without
// reasoning, secrets, control characters and injected blocks. End retires a session
// and adds the job that harvests it in one transaction; Sweep deletes the messages
// after the harvest. A [Checkpoint] summarises the state of a session in a few lines.
//
//	          Append          End             Harvested          Sweep
//	(unknown) ─────→ open ─────────→ ended ─────────────→ harvested ─────→ no messages
//	                  ↑                └─ Failed → failed      │
//	                  └────────────── Append ──────────────────┘
//
// [Journal.Record] keeps what several turns left in one transaction: their messages,
// what was injected, and the checkpoints.
//
// A [Session] is a handle with session, branch and actor filled in. It passes every
// action to a logger before it calls the store, and calls hooks for each message that
// is added.
//
// # Several processes
//
// Any number of journals, in any number of processes, may share one shelf and write
// to the same session. A journal that finds messages of another process reads them
// and decides again what is new. A session belongs to every process that sent
// messages for it since it was opened, new or not. While one of them is alive, other
// processes end the session only after it was idle for twice the idle time.
//
// # What counts as new
//
// A message is identified by its role, name, text and tool calls, after cleaning. If
// a request begins like an earlier one of this process, the messages after that
// beginning are new, except those that the journal got another way meanwhile.
// Otherwise (the client compacted or edited the conversation, sent only its end, or
// the process restarted) a message is new if the request holds it more often than the
// journal. So if a client sends only the newest message, and that repeats an earlier
// one word for word, it is not stored again; such clients use Session.Add. A tool
// result whose text the client changed, for example shortened, is not new.
//
// # Caveats
//
// A user's message that mentions a reasoning tag is kept whole, see
// guardrail.StripPastedReasoning. In every other role a mention counts as the tag
// itself, and the text after it is lost. A text over the limit loses its middle,
// arguments of tool calls lose the middles of their longest strings. After a sweep, 8
// bytes of a hash of each message stay until the session is pruned or forgotten, so
// that a conversation that goes on is not harvested from its start again; of a
// deleted conversation only its Info stays.
package session
