package middleware

import (
	"context"
	"slices"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/session"
)

// record is what one turn, or one answer, leaves to the session's journal.
type record struct {
	owner    string
	about    session.About
	messages []ken.Message
	answer   func() (ken.Message, bool) // reads an answer as it came; nil for none

	turn    bool // it is a turn's, with what follows
	items   []ken.Item
	signals ken.Signals
}

// maxWaiting bounds what waits to be written, some thousand turns that came faster
// than the disk takes them. What comes on top is left out: a conversation's next
// request brings its messages again.
const maxWaiting = 1024

// recorder hands records on, one after another and in their order, behind the
// turns' backs: a turn leaves what it has and goes on. What was left before close
// is written.
type recorder struct {
	write func(record)
	lost  func()       // is told of the first record of a row that was left out
	spawn func(func()) // a goroutine that Close waits for

	mu      sync.Mutex // guards the rest
	moved   sync.Cond  // told when written grows
	waiting []record
	added   uint64
	written uint64
	busy    bool // somebody is writing
	losing  bool
	closed  bool
}

func newRecorder(write func(record), lost func(), spawn func(func())) *recorder {
	r := &recorder{write: write, lost: lost, spawn: spawn}
	r.moved.L = &r.mu
	return r
}

// add never waits for a write.
func (r *recorder) add(rec record) {
	if r.take(rec) {
		r.lost()
	}
}

// take reports whether the record is the first one to be left out.
func (r *recorder) take(rec record) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	if r.added-r.written >= maxWaiting {
		first, r.losing = !r.losing, true
		return first
	}
	r.losing = false
	r.waiting = append(r.waiting, rec)
	r.added++
	if !r.busy {
		r.busy = true
		r.spawn(r.run)
	}
	return false
}

func (r *recorder) run() {
	for {
		rec, ok := r.next()
		if !ok {
			return
		}
		r.write(rec)
		r.mu.Lock()
		r.written++
		r.moved.Broadcast()
		r.mu.Unlock()
	}
}

func (r *recorder) next() (rec record, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		r.busy = false
		return rec, false
	}
	rec = r.waiting[0]
	r.waiting[0] = record{} // what it holds can go
	r.waiting = r.waiting[1:]
	return rec, true
}

// inRecorder marks the context of what the recorder's own goroutine calls.
type inRecorder struct{}

// flush returns when everything that was added before is written, or ctx ends. The
// program's hook, which runs between two writes, does not wait for itself.
func (r *recorder) flush(ctx context.Context) error {
	if ctx.Value(inRecorder{}) != nil {
		return nil
	}
	stop := context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.moved.Broadcast()
	})
	defer stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for upto := r.added; r.written < upto; r.moved.Wait() {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// close refuses what comes later. What waits is still written.
func (r *recorder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// journals reports whether a turn's messages are kept.
func (l *Layer) journals(t *ken.Turn) bool {
	return l.cfg.Middleware.Knowledge && l.cfg.Middleware.Journal && t.Session != "" && l.storeErr == nil
}

// observe leaves a turn to the session's journal.
func (l *Layer) observe(t *ken.Turn, a *Assembly) {
	if !l.journals(t) {
		return
	}
	r := record{owner: t.Owner, about: about(t), messages: cloned(t.Messages), turn: true, signals: a.Receipt.Signals}
	if l.cfg.Middleware.Inject { // in a dry run the model never sees them
		r.items = a.Receipt.Items
	}
	l.recorder.add(r)
}

// cloned are messages that share nothing with those of the caller, who may go on
// with them.
func cloned(msgs []ken.Message) []ken.Message {
	out := slices.Clone(msgs)
	for i := range out {
		out[i].Parts, out[i].ToolCalls = slices.Clone(out[i].Parts), slices.Clone(out[i].ToolCalls)
	}
	return out
}

// Answered tells the layer what the model answered to a turn, so that the
// session's journal has it even if it never comes back in a request: the last
// answer of a conversation, and any that the client shortens. A Transport does so
// by itself, and goopenai.Wrapped for answers that are not streamed. t is the turn
// as it was given to Assemble. It returns at once.
func (l *Layer) Answered(t ken.Turn, answer ken.Message) {
	answer = cloned([]ken.Message{answer})[0]
	l.answered(&t, func() (ken.Message, bool) { return answer, true })
}

// answered is Answered for an answer that is still to be read: on the recorder's
// goroutine, which nobody waits for.
func (l *Layer) answered(t *ken.Turn, read func() (ken.Message, bool)) {
	if t.Owner == "" {
		t.Owner = l.cfg.Knowledge.Owner
	}
	if l.journals(t) {
		l.recorder.add(record{owner: t.Owner, about: about(t), answer: read})
	}
}

// about is whose messages a turn's are. What is learned in a session applies to
// the one scope that it works in, and everywhere when it names none or several.
func about(t *ken.Turn) session.About {
	a := session.About{ID: t.Session, Project: t.Project, Branch: t.Branch, Agent: t.Agent, Model: t.Model, Scopes: slices.Clone(t.Scopes)}
	if len(t.Scopes) == 1 {
		a.Scope = t.Scopes[0]
	}
	return a
}
