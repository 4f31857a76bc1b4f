package middleware

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// record is what one turn, or one answer, leaves: to the session's journal, unless
// note says that there is none, and to the owner's receipts.
type record struct {
	owner    string
	about    session.About
	messages []ken.Message
	answer   func() (ken.Message, bool) // reads an answer as it came; nil for none
	held     int                        // bytes that answer holds until it has read
	note     bool                       // it is for the journal
	unkept   bool                       // of an incognito turn: the journal only learns what not to take up

	items    []ken.Item
	block    *session.Block // composed by this turn; nil for none
	mine     *turnDecision  // what block was made of
	signals  ken.Signals
	focal    []string        // the entities in focus
	receipt  *receipt.Record // nil for none
	marks    *marks          // of an answer's taints; nil for none
	reply    *reply          // tells conversations apart that begin alike; nil for none
	response string          // the id of a response that belongs to the session; "" for none
	place    int             // of its note among those of one transaction, from 1; 0 for none
}

// Bounds of what waits to be written: some seconds of turns that came faster than
// the disk takes them, and the bytes of their messages and answers. What comes on top
// is left out: a conversation's next request brings its messages again.
const (
	maxWaiting      = 4096
	maxWaitingBytes = 256 << 20
)

// maxTogether bounds the records that share a transaction.
const maxTogether = 64

// recorder hands records on behind the turns' backs: a turn leaves what it has and
// goes on. Those of an owner are handed on in their order, together those that came
// while others were written; owners do not wait for each other. What was left before
// close is written.
//
// They do not wait for company: with up to 20 ms for it, a turn took as much processor
// time, at 60 turns a second and at 500.
type recorder struct {
	write func(owner string, recs []record)
	lost  func()       // is told of the first record of a row that was left out
	spawn func(func()) // a goroutine that Close waits for

	mu      sync.Mutex       // guards the rest
	moved   sync.Cond        // told when something was written
	lanes   map[string]*lane // by owner, those with something to write
	waiting int              // records, those that are being written included
	bytes   int              // of their messages and answers
	losing  bool
	closed  bool
	taken   uint64 // records, ever
	dropped uint64 // that were left out
}

// lane is what waits of one owner.
type lane struct {
	waiting        []record
	added, written uint64
}

func newRecorder(write func(owner string, recs []record), lost func(), spawn func(func())) *recorder {
	r := &recorder{write: write, lost: lost, spawn: spawn, lanes: map[string]*lane{}}
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
	n := rec.size()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	if r.waiting >= maxWaiting || r.waiting > 0 && r.bytes+n > maxWaitingBytes {
		first, r.losing = !r.losing, true
		r.dropped++
		return first
	}
	r.losing = false
	r.taken++
	l := r.lanes[rec.owner]
	if l == nil {
		l = &lane{}
		r.lanes[rec.owner] = l
		r.spawn(func() { r.run(rec.owner, l) })
	}
	l.waiting = append(l.waiting, rec)
	l.added++
	r.waiting, r.bytes = r.waiting+1, r.bytes+n
	return false
}

// size is about what messages and an answer that was not read yet take, in bytes.
func (rec *record) size() int {
	n := rec.held
	for i := range rec.messages {
		m := &rec.messages[i]
		n += len(m.Text)
		for _, p := range m.Parts {
			n += len(p.Text) + len(p.Ref)
		}
		for _, c := range m.ToolCalls {
			n += len(c.Arguments)
		}
	}
	return n
}

// run writes what waits of an owner until nothing does.
func (r *recorder) run(owner string, l *lane) {
	for {
		recs := r.next(owner, l)
		if recs == nil {
			return
		}
		n := 0
		for i := range recs {
			n += recs[i].size()
		}
		r.write(owner, recs)
		r.mu.Lock()
		l.written += uint64(len(recs))
		r.waiting, r.bytes = r.waiting-len(recs), r.bytes-n
		r.moved.Broadcast()
		r.mu.Unlock()
	}
}

// next returns what is to be written together; nil when nothing waits.
func (r *recorder) next(owner string, l *lane) []record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(l.waiting) == 0 {
		delete(r.lanes, owner)
		return nil
	}
	recs := slices.Clone(l.waiting[:min(len(l.waiting), maxTogether)])
	clear(l.waiting[:len(recs)]) // what they hold can go
	l.waiting = l.waiting[len(recs):]
	return recs
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
	for l, upto := range r.targets() {
		for ; l.written < upto; r.moved.Wait() {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// targets are how far each lane is to be written. r.mu is held.
func (r *recorder) targets() map[*lane]uint64 {
	out := make(map[*lane]uint64, len(r.lanes))
	for _, l := range r.lanes {
		out[l] = l.added
	}
	return out
}

// close refuses what comes later. What waits is still written.
func (r *recorder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// remembers reports whether the layer keeps a turn's session in mind.
func (l *Layer) remembers(t *ken.Turn) bool {
	return l.cfg.Middleware.Knowledge && l.cfg.Middleware.Journal && t.Session != "" && l.storeErr == nil
}

// journals reports whether a turn's messages are kept.
func (l *Layer) journals(t *ken.Turn) bool { return l.remembers(t) && !t.Incognito }

// keepsReceipt reports whether a turn's receipt is kept.
func (l *Layer) keepsReceipt(t *ken.Turn) bool {
	return l.cfg.Middleware.Knowledge && l.storeErr == nil && l.cfg.Session.Receipts > 0 && !t.Incognito
}

// observe leaves a turn to the session's journal and to the owner's receipts.
func (l *Layer) observe(t *ken.Turn, a *Assembly) {
	r := record{owner: t.Owner}
	if l.remembers(t) {
		r.note, r.unkept = true, t.Incognito
		r.about, r.messages, r.signals, r.focal = about(t), kept(t.Messages), a.Receipt.Signals, a.Receipt.Focal
		if l.cfg.Middleware.Inject { // in a dry run the model never sees them
			r.items = a.Receipt.Items
			r.block, r.mine = a.block.stored(), a.block
		}
	}
	if l.keepsReceipt(t) && !a.block.restored { // its first request left one
		context := a.context
		r.receipt = &receipt.Record{Receipt: a.Receipt, Project: t.Project, Agent: t.Agent, Model: t.Model, Branch: t.Branch, Context: &context}
	}
	if r.note || r.receipt != nil {
		l.recorder.add(r)
	}
}

// maxKeptText bounds the bytes of a message that wait for the journal, which keeps fewer.
const maxKeptText = 1 << 20

// kept is a copy of messages to be kept after their request. Of a very long one the
// middle is left out, and then nothing in it holds on to the request's body.
func kept(msgs []ken.Message) []ken.Message {
	out, long := cloned(msgs), false
	for i := range out {
		text, cut := withoutMiddle(out[i].Text, maxKeptText)
		if out[i].Text = text; cut {
			long = true
			out[i].Parts = slices.DeleteFunc(out[i].Parts, func(p ken.Part) bool { return p.Text != "" })
		}
	}
	for i := range out {
		if !long {
			break
		}
		m := &out[i]
		m.Role, m.Name, m.Text, m.ToolCallID = strings.Clone(m.Role), strings.Clone(m.Name), strings.Clone(m.Text), strings.Clone(m.ToolCallID)
		for j := range m.Parts {
			p := &m.Parts[j]
			p.Type, p.Text, p.Ref = strings.Clone(p.Type), strings.Clone(p.Text), strings.Clone(p.Ref)
		}
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			c.ID, c.Name, c.Arguments = strings.Clone(c.ID), strings.Clone(c.Name), strings.Clone(c.Arguments)
		}
	}
	return out
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
	l.answered(&t, len(answer.Text), "", func() (ken.Message, bool) { return answer, true })
}

// answered is Answered for an answer that is still to be read, and holds so many bytes
// until then: on the recorder's goroutine, which nobody waits for. response is the id that
// a later request may go on from, "" for none.
func (l *Layer) answered(t *ken.Turn, held int, response string, read func() (ken.Message, bool)) {
	if t.Owner == "" {
		t.Owner = l.cfg.Knowledge.Owner
	}
	if t.Incognito || len(response) > maxIDBytes {
		response = ""
	}
	if l.remembers(t) {
		l.recorder.add(record{owner: t.Owner, about: about(t), answer: read, held: held, response: response, note: true, unkept: t.Incognito})
	}
}

// about is whose messages a turn's are. What is learned in a session applies to
// the one scope that it works in, and everywhere when it names none or several.
func about(t *ken.Turn) session.About {
	a := session.About{ID: t.Session, Parent: t.Parent, Project: t.Project, Branch: t.Branch, Agent: t.Agent, Model: t.Model, Scopes: slices.Clone(t.Scopes)}
	if len(t.Scopes) == 1 {
		a.Scope = t.Scopes[0]
	}
	return a
}

// keepRecords writes an owner's records in one transaction. It runs on the recorder's
// goroutine, and what fails costs knowledge of a session, never a turn.
func (l *Layer) keepRecords(owner string, recs []record) {
	defer func() {
		if p := recover(); p != nil {
			l.o.Log.Error("journal turns", "panic", p)
		}
	}()
	ctx := context.WithValue(context.Background(), inRecorder{}, true)
	var notes []session.Note
	var kept []*record // those of notes
	for i := range recs {
		r := &recs[i]
		if r.note && l.readAnswer(r) {
			notes, kept = append(notes, noteOf(r)), append(kept, r)
			r.place = len(notes)
		}
	}
	if slices.ContainsFunc(kept, func(r *record) bool { return !r.unkept }) {
		l.tend(owner)
	}
	also, settled := l.bookUse(ctx, l.judgeRecords(owner, recs), l.bookReceipts(owner, recs))
	also, corrected := l.bookReplies(owner, recs, also)
	noted := l.Journal(owner).Record(ctx, notes, also)
	settled()
	corrected()
	var failed error
	lost := 0
	for i := range noted {
		if b := noted[i].Standing; b != nil {
			l.adopt(owner, kept[i].about.ID, kept[i].mine, b)
		}
		if err := noted[i].Err; err != nil {
			failed, lost = err, lost+1
		}
	}
	if failed != nil {
		l.o.Log.Warn("journal turns", "lost", lost, "cause", failed, "try", ken.Hint(failed))
	}
	for i := range noted {
		l.statements.tookUp(owner, kept[i].about.ID, noted[i].Entries)
	}
	if l.o.OnMessage == nil {
		return
	}
	for i := range noted {
		if len(noted[i].Entries) == 0 {
			continue
		}
		s := l.handle(owner, kept[i].about)
		for _, e := range noted[i].Entries {
			l.recordAnswer(ctx, s, e)
		}
	}
}

// readAnswer reads what is still to be read, false when there is nothing.
func (l *Layer) readAnswer(r *record) (ok bool) {
	if r.answer == nil {
		return true
	}
	defer func() {
		if p := recover(); p != nil {
			l.o.Log.Error("read an answer", "panic", p)
			ok = false
		}
	}()
	m, ok := r.answer()
	m.Role = "assistant"
	r.messages = []ken.Message{m}
	return ok
}

// noteOf is a record as the journal takes it.
func noteOf(r *record) session.Note {
	n := session.Note{About: r.about, Messages: r.messages, Injected: append(knowledge(r.items), shownIn(r.messages)...), Unkept: r.unkept, Block: r.block,
		Step: &session.Step{Signals: r.signals, Focal: r.focal, Aspects: aspects(r.items, r.focal)}}
	for _, it := range r.items {
		if it.Constraint {
			n.Step.Constraints = append(n.Step.Constraints, it.Text)
		}
	}
	return n
}

// aspects names those of the entities in focus that the items are about.
func aspects(items []ken.Item, focal []string) (out []string) {
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

// bookReceipts returns what writes the records' receipts; nil when there are none.
// One that is refused, over an id that can't be a key, costs no other.
func (l *Layer) bookReceipts(owner string, recs []record) func(store.ShelfTx, []session.Noted) error {
	if !slices.ContainsFunc(recs, func(r record) bool { return r.receipt != nil || r.marks != nil }) {
		return nil
	}
	book := l.Receipts(owner)
	return func(tx store.ShelfTx, noted []session.Noted) error {
		for i := range recs {
			if recs[i].receipt == nil && recs[i].marks == nil {
				continue
			}
			if at := recs[i].place; at > 0 && recs[i].receipt != nil {
				recs[i].receipt.Through = noted[at-1].Through
			}
			o := store.NewOverlay(tx)
			if err := recs[i].book(o, book); err != nil {
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

// knowledge are the items without checkpoints. Those are made of what was said in
// the session itself, which may well be learned.
func knowledge(items []ken.Item) []ken.Item {
	return slices.DeleteFunc(slices.Clone(items), func(it ken.Item) bool { return it.Kind == budgeter.KindCheckpoint })
}

// recordAnswer tells the program's hook of a message. Its panic must not cost the rest.
func (l *Layer) recordAnswer(ctx context.Context, s *session.Session, e session.Entry) {
	defer func() {
		if p := recover(); p != nil {
			l.o.Log.Error("the message hook failed", "panic", p)
		}
	}()
	l.o.OnMessage(ctx, s, e)
}
