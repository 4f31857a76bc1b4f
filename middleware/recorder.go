package middleware

import (
	"context"
	"slices"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/overlay"
	"github.com/kenlayer/ken/store"
)

// record is what one turn or one answer adds to the session's journal and to the owner's receipts.
type record struct {
	owner       string
	about       session.About
	messages    []ken.Message
	answer      func() (ken.Message, bool) // parses an answer; nil for a turn
	answerBytes int                        // bytes that answer holds until it is called
	journaled   bool                       // it is written to the journal
	incognito   bool                       // the turn is incognito: the journal only records what must not be learned

	items      []ken.Item
	block      *session.Block // composed by this turn; nil for none
	decision   *turnDecision  // the decision that block comes from
	signals    ken.Signals
	focal      []string        // the entities in focus
	receipt    *receipt.Record // nil for none
	marks      *taintMarks     // taints of an answer; nil for none
	reply      *reply          // the conversation's first answer; nil for none
	responseID string          // id of a response that belongs to the session; "" for none
	noteIndex  int             // position among the notes of one transaction, from 1; 0 for none
}

// Bounds of the records that wait to be written. maxWaiting records are some seconds of turns that
// come faster than the disk writes. maxWaitingBytes limits the bytes of their messages and answers.
// Further records are dropped; the next request of a conversation carries its messages again.
const (
	maxWaiting      = 4096
	maxWaitingBytes = 256 << 20
)

// maxTogether is the maximum number of records in one transaction.
const maxTogether = 64

// recorder writes records in the background, so that turns need not wait. The records of an owner
// are written in order; those that arrive during a write are written together by the next one.
// Owners do not wait for each other. Everything that was added before close is written.
//
// A write does not wait for more records to arrive. With a wait of up to 20 ms, a turn took the
// same processor time, at 60 turns per second and at 500.
type recorder struct {
	write  func(owner string, recs []record) (lost int)
	onDrop func()       // called when records begin to be dropped
	spawn  func(func()) // starts a goroutine that Close waits for

	mu       sync.Mutex             // guards the rest
	progress sync.Cond              // signals each completed write
	queues   map[string]*ownerQueue // by owner; only owners with waiting records
	waiting  int                    // number of waiting records, including those being written
	bytes    int                    // bytes of their messages and answers
	// dropping reports whether the last record was dropped.
	dropping bool
	closed   bool
	accepted uint64 // total number of records
	dropped  uint64 // total number of records
	failed   uint64 // total number of accepted records that could not be written
}

// ownerQueue holds the waiting records of one owner.
type ownerQueue struct {
	pending        []record
	added, written uint64
}

func newRecorder(write func(owner string, recs []record) (lost int), lost func(), spawn func(func())) *recorder {
	r := &recorder{write: write, onDrop: lost, spawn: spawn, queues: map[string]*ownerQueue{}}
	r.progress.L = &r.mu
	return r
}

// add queues a record. It never waits for a write.
func (r *recorder) add(rec record) {
	if r.enqueue(rec) {
		r.onDrop()
	}
}

// enqueue queues a record. It reports whether the record was dropped and the one before it was not.
func (r *recorder) enqueue(rec record) (first bool) {
	n := rec.size()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	if r.waiting >= maxWaiting || r.waiting > 0 && r.bytes+n > maxWaitingBytes {
		first, r.dropping = !r.dropping, true
		r.dropped++
		return first
	}
	r.dropping = false
	r.accepted++
	l := r.queues[rec.owner]
	if l == nil {
		l = &ownerQueue{}
		r.queues[rec.owner] = l
		r.spawn(func() { r.run(rec.owner, l) })
	}
	l.pending = append(l.pending, rec)
	l.added++
	r.waiting, r.bytes = r.waiting+1, r.bytes+n
	return false
}

// size returns the approximate bytes of the messages and of an answer that is not parsed yet.
func (rec *record) size() int {
	n := rec.answerBytes
	for i := range rec.messages {
		n += textBytes(&rec.messages[i])
	}
	return n
}

func textBytes(m *ken.Message) int {
	n := len(m.Text)
	for _, p := range m.Parts {
		n += len(p.Text) + len(p.Ref)
	}
	for _, c := range m.ToolCalls {
		n += len(c.Arguments)
	}
	return n
}

// run writes an owner's records until none is waiting.
func (r *recorder) run(owner string, l *ownerQueue) {
	for {
		recs := r.next(owner, l)
		if recs == nil {
			return
		}
		n := 0
		for i := range recs {
			n += recs[i].size()
		}
		lost := r.write(owner, recs)
		r.mu.Lock()
		r.failed += uint64(lost)
		l.written += uint64(len(recs))
		r.waiting, r.bytes = r.waiting-len(recs), r.bytes-n
		r.progress.Broadcast()
		r.mu.Unlock()
	}
}

// next returns the records to write together; nil if none is waiting.
func (r *recorder) next(owner string, l *ownerQueue) []record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(l.pending) == 0 {
		delete(r.queues, owner)
		return nil
	}
	recs := slices.Clone(l.pending[:min(len(l.pending), maxTogether)])
	clear(l.pending[:len(recs)]) // release their memory
	l.pending = l.pending[len(recs):]
	return recs
}

// recorderKey marks the context of calls in the recorder's own goroutine.
type recorderKey struct{}

// flush waits until everything that was added before is written, or until ctx ends. In the
// recorder's own goroutine, where Options.OnMessage runs, it returns at once.
func (r *recorder) flush(ctx context.Context) error {
	if ctx.Value(recorderKey{}) != nil {
		return nil
	}
	stop := context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.progress.Broadcast()
	})
	defer stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	targets := make(map[*ownerQueue]uint64, len(r.queues))
	for _, l := range r.queues {
		targets[l] = l.added
	}
	for l, upto := range targets {
		for ; l.written < upto; r.progress.Wait() {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// close rejects new records. Waiting records are still written.
func (r *recorder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// usesSession reports whether the layer stores anything about a turn's session.
func (l *Layer) usesSession(t *ken.Turn) bool {
	return l.cfg.Middleware.Knowledge && l.cfg.Middleware.Journal && t.Session != "" && l.storeErr == nil
}

// keepsMessages reports whether a turn's messages are journaled.
func (l *Layer) keepsMessages(t *ken.Turn) bool { return l.usesSession(t) && !t.Incognito }

// keepsReceipt reports whether a turn's receipt is stored.
func (l *Layer) keepsReceipt(t *ken.Turn) bool {
	return l.cfg.Middleware.Knowledge && l.storeErr == nil && l.cfg.Session.Receipts > 0 && !t.Incognito
}

// recordTurn queues a turn for the session's journal and the owner's receipts.
func (l *Layer) recordTurn(t *ken.Turn, a *Assembly) {
	r := record{owner: t.Owner}
	if l.usesSession(t) {
		r.journaled, r.incognito = true, t.Incognito
		r.about, r.messages, r.signals, r.focal = l.sessionAbout(t), journalCopy(t.Messages), a.Receipt.Signals, a.Receipt.Focal
		if l.cfg.Middleware.Inject { // if blocks are not injected, the model never sees the items
			r.items = a.Receipt.Items
			r.block, r.decision = a.decision.storedBlock(), a.decision
		}
	}
	r.receipt = l.receiptOf(t, a)
	if r.journaled || r.receipt != nil {
		l.recorder.add(r)
	}
}

// receiptOf returns the receipt to store of a turn; nil for none.
func (l *Layer) receiptOf(t *ken.Turn, a *Assembly) *receipt.Record {
	if !l.keepsReceipt(t) || a.decision.restored { // the first request of the turn has stored its receipt
		return nil
	}
	context := a.context
	return &receipt.Record{Receipt: a.Receipt, Project: t.Project, Agent: t.Agent, Model: t.Model, Branch: t.Branch, Key: t.Key, Context: &context}
}

// recordRefusal says in the turn's receipt that the server refused the request with its blocks and
// took it without them.
func (l *Layer) recordRefusal(x *Exchange) {
	a := x.assembly
	a.Receipt.Degraded = append(slices.Clip(a.Receipt.Degraded), "blocks: the server refused the request with them, so it was sent without them")
	a.context.Knowledge, a.context.Memory, a.context.SessionContext = 0, 0, 0
	x.Receipt.Degraded = a.Receipt.Degraded
	if r := l.receiptOf(&x.Turn, a); r != nil {
		l.recorder.add(record{owner: x.Turn.Owner, receipt: r})
	}
}

// maxKeptText is the maximum number of bytes of a message that waits for the journal, which keeps
// less.
const maxKeptText = 1 << 20

// journalCopy returns a copy of messages that outlives their request. The middle of a very long
// message is left out; then the copy shares no memory with the request's body.
func journalCopy(msgs []ken.Message) []ken.Message {
	out, long := cloneMessages(msgs), false
	for i := range out {
		text, cut := withoutMiddle(out[i].Text, maxKeptText)
		if out[i].Text = text; cut {
			long = true
			out[i].Parts = slices.DeleteFunc(out[i].Parts, func(p ken.Part) bool { return p.Text != "" })
		}
	}
	for i := range out {
		if long {
			out[i] = detachedMessage(out[i])
		}
	}
	return out
}

// cloneMessages returns a copy of messages whose slices the caller may change.
func cloneMessages(msgs []ken.Message) []ken.Message {
	out := slices.Clone(msgs)
	for i := range out {
		out[i].Parts, out[i].ToolCalls = slices.Clone(out[i].Parts), slices.Clone(out[i].ToolCalls)
	}
	return out
}

// Answered adds the model's answer to the session's journal. It is needed for answers that never
// come back in a request, such as the last one of a conversation, or one that the client shortens.
// A Transport does this itself, as does goopenai.Wrapped for answers that are not streamed. t is
// the turn as it was passed to Assemble. Answered returns at once.
func (l *Layer) Answered(t ken.Turn, answer ken.Message) {
	answer = cloneMessages([]ken.Message{answer})[0]
	l.recordAnswer(&t, len(answer.Text), "", func() (ken.Message, bool) { return answer, true })
	if l.events != nil && !t.Incognito {
		l.responseTasks.run(l.catchPanics("reporting an answer", func() {
			l.reportAnswer(&t, &wire.Observed{Answer: wire.Answer{Message: answer}, OK: true})
		}))
	}
}

// recordAnswer is Answered for an answer that read parses later, in the recorder's goroutine. Until
// then the answer holds heldBytes. response is the id that a later request may continue; "" for
// none.
func (l *Layer) recordAnswer(t *ken.Turn, heldBytes int, response string, read func() (ken.Message, bool)) {
	l.setOwner(t)
	if t.Incognito || len(response) > maxIDBytes {
		response = ""
	}
	if l.usesSession(t) {
		l.recorder.add(record{owner: t.Owner, about: l.sessionAbout(t), answer: read, answerBytes: heldBytes, responseID: response, journaled: true, incognito: t.Incognito})
	}
}

// sessionAbout describes the session of a turn. If the turn has exactly one scope, what is learned
// in the session applies to that scope. Otherwise it applies everywhere.
func (l *Layer) sessionAbout(t *ken.Turn) session.About {
	a := session.About{ID: t.Session, Parent: t.Parent, Project: t.Project, Branch: t.Branch, Agent: t.Agent, Key: t.Key, Model: t.Model, Scopes: slices.Clone(t.Scopes), DistrustUser: t.DistrustUser,
		TrustUser: l.cfg.Knowledge.TrustsUser() && !l.cfg.Knowledge.TrustsAnyTurn() && !l.distrusts.Load() && !t.DistrustUser}
	if len(t.Scopes) == 1 {
		a.Scope = t.Scopes[0]
	}
	return a
}

// writeRecords writes an owner's records in one transaction. It runs in the recorder's goroutine.
// After an error the records are lost and the error is logged; turns are not affected. It returns the
// number of lost records.
func (l *Layer) writeRecords(owner string, recs []record) (lost int) {
	if !l.guarded("journal turns", func() { lost = l.journalTurns(l.recording, owner, recs) }) {
		lost = len(recs)
	}
	return lost
}

func (l *Layer) journalTurns(ctx context.Context, owner string, recs []record) (lost int) {
	var notes []session.Note
	var kept []*record // the records that notes were made from
	for i := range recs {
		r := &recs[i]
		if r.journaled && l.readAnswer(r) {
			notes, kept = append(notes, journalNote(r)), append(kept, r)
			r.noteIndex = len(notes)
		}
	}
	write, useWritten := l.useWriter(ctx, l.judgeRecords(owner, recs), l.receiptWriter(owner, recs))
	write, repliesWritten := l.replyWriter(owner, recs, write)
	noted := l.Operator().Journal(owner).Record(ctx, notes, write)
	useWritten()
	repliesWritten()
	if slices.ContainsFunc(kept, func(r *record) bool { return !r.incognito }) {
		l.noteSession(ctx, owner)
	}
	var failed error
	for i := range noted {
		if b := noted[i].Standing; b != nil {
			l.adoptBlock(owner, kept[i].about.ID, kept[i].decision, b)
		}
		if err := noted[i].Err; err != nil {
			failed, lost = err, lost+1
		}
	}
	if failed != nil {
		l.o.Log.Warn("journal turns", "lost", lost, "cause", failed, "try", ken.Hint(failed))
	}
	for i := range noted {
		l.statements.notify(owner, kept[i].about.ID, noted[i].Entries)
	}
	if l.o.OnMessage == nil {
		return lost
	}
	for i := range noted {
		if len(noted[i].Entries) == 0 {
			continue
		}
		a := &kept[i].about
		s := &Session{layer: l, h: l.sessionHandle(owner, *a),
			turn: ken.Turn{Owner: owner, Project: a.Project, Session: a.ID, Parent: a.Parent, Branch: a.Branch, Agent: a.Agent, Key: a.Key, Scopes: a.Scopes}}
		for _, e := range noted[i].Entries {
			l.guarded("the message hook failed", func() { l.o.OnMessage(ctx, s, said(&e)) })
		}
	}
	return lost
}

// readAnswer parses a record's answer. It returns false if the answer is not to be recorded.
func (l *Layer) readAnswer(r *record) (ok bool) {
	if r.answer == nil {
		return true
	}
	return l.guarded("read an answer", func() {
		var m ken.Message
		m, ok = r.answer()
		m.Role = "assistant"
		r.messages = []ken.Message{m}
	}) && ok
}

// journalNote converts a record to the journal's form.
func journalNote(r *record) session.Note {
	n := session.Note{About: r.about, Messages: r.messages, Injected: append(withoutCheckpoints(r.items), itemsInToolResults(r.messages)...), Unkept: r.incognito, Block: r.block,
		Step: &session.Step{Signals: r.signals, Focal: r.focal, Aspects: focalAspects(r.items, r.focal)}}
	for _, it := range r.items {
		if it.Constraint {
			n.Step.Constraints = append(n.Step.Constraints, it.Text)
		}
	}
	return n
}

// focalAspects returns "entity: aspect" for the items about the entities in focus.
func focalAspects(items []ken.Item, focal []string) (out []string) {
	for i := range items {
		it := &items[i]
		if len(it.Entities) == 0 || it.Aspect == "" {
			continue
		}
		entity := analysis.Entity(it.Entities[0])
		if name := entity + ": " + it.Aspect; slices.Contains(focal, entity) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// receiptWriter returns a function that writes the records' receipts; nil if there are none. If one
// receipt can't be written, for example because its id is no valid key, the others still are.
func (l *Layer) receiptWriter(owner string, recs []record) func(store.ShelfTx, []session.Noted) error {
	if !slices.ContainsFunc(recs, func(r record) bool { return r.receipt != nil || r.marks != nil }) {
		return nil
	}
	book := l.Operator().Receipts(owner)
	return func(tx store.ShelfTx, noted []session.Noted) error {
		for i := range recs {
			if recs[i].receipt == nil && recs[i].marks == nil {
				continue
			}
			if at := recs[i].noteIndex; at > 0 && recs[i].receipt != nil {
				recs[i].receipt.Through = noted[at-1].Through
			}
			o := overlay.New(tx)
			if err := recs[i].writeReceipt(o, book); err != nil {
				l.o.Log.Warn("keep a receipt", "cause", err, "try", ken.Hint(err))
				continue
			}
			if err := o.Apply(tx); err != nil {
				return err
			}
		}
		return nil
	}
}

// withoutCheckpoints returns the items without checkpoints. A checkpoint repeats what was said in
// the session itself, and that may be learned.
func withoutCheckpoints(items []ken.Item) []ken.Item {
	return slices.DeleteFunc(slices.Clone(items), func(it ken.Item) bool { return it.Kind == budgeter.KindCheckpoint })
}
