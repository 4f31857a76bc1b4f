// Package session keeps the messages of a session until they are harvested. It also has
// the handle through which a program learns, recalls, verifies and disputes claims.
//
// A [Journal] is durable and belongs to one owner. Append takes a conversation as
// a client sends it, which is the whole of it again and again, and keeps what it
// does not have yet: without reasoning, secrets, control characters and the
// blocks that the layer itself injected. End retires a session and adds the job
// that harvests it in one transaction; Sweep deletes the messages after the
// harvest. A [Checkpoint] says in a few lines where a session stands.
//
//	          Append          End             Harvested          Sweep
//	(unknown) ─────→ open ─────────→ ended ─────────────→ harvested ─────→ no messages
//	                  ↑                └─ Failed → failed      │
//	                  └────────────── Append ──────────────────┘
//
// [Journal.Record] keeps what several turns left in one transaction: their messages,
// what was injected, and the checkpoints.
//
// A [Session] is a handle with session, branch and actor filled in. It tells a
// logger of every action before it asks the store, and calls hooks for each
// message that it is given.
//
// # Several processes
//
// Any number of journals, in any number of processes, keep sessions on one shelf,
// also the same session at once: whoever finds that it went on meanwhile looks again,
// at what was added. A session belongs to those that had messages for it since it was
// opened, new or not. As long as one of them lives, no other process ends it before
// it has been idle for long.
//
// # What counts as new
//
// A message is known by its role, name, text and tool calls, as they are once
// cleaned. A request that begins like an earlier one of this process adds what
// follows, but for what came by another way in between. One that does not (the
// client compacted or edited the conversation, sent its end alone, or the process
// started anew) adds what it holds more often than the journal. So somebody who
// sends only the newest message and repeats an earlier one word for word is not
// heard a second time; Session.Add is for those. The result of a tool call that
// came back in other words, because the client shortened it, is not new.
//
// # Caveats
//
// A person's message that names a reasoning tag is kept whole, see
// guardrail.StripPastedReasoning; in every other role a mention counts as the tag
// itself, and what stands behind it is lost. A text over the limit loses its
// middle, arguments of tool calls lose the middles of their longest strings. After
// a sweep, 8 bytes of a hash of each message stay until the session is pruned or
// forgotten, so that a conversation that goes on is not harvested from its start
// again; of a deleted conversation nothing stays but its Info.
package session
