package middleware

import (
	"container/list"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/retriever/scorer"
	"github.com/kenlayer/ken/internal/retriever/scorer/use"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// Bounds of what waits to be judged: sessions, and the messages of one.
const (
	maxHeeds     = 512
	heedMessages = 64
	heedBytes    = 32 << 10 // of what came before, of what followed, and of one message
)

// How many turns are judged a second, and how many at once after a quiet time. To judge a
// turn costs as much as to compose it, and the order of items is learned from a sample as
// well: turns that come faster are answered, and not judged.
const (
	judgedRate  = 20
	judgedBurst = 400
)

// judgedTurns are the last turns of sessions, whose answers are judged: which items of the
// block did they use? That is known in part once an answer is heard, and for good
// once the person goes on, who may say that it was wrong. It lives in memory alone; a
// turn whose process dies before is not learned from. The zero value is ready.
type judgedTurns struct {
	work sync.Mutex // guards what each of them holds

	mu    sync.Mutex // guards the rest
	at    map[string]*list.Element
	used  *list.List // of *heed, the latest first
	limit *rate.Limiter
}

// room reports whether one more turn may be judged.
func (h *judgedTurns) room(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.limit == nil {
		h.limit = rate.NewLimiter(judgedRate, judgedBurst)
	}
	return h.limit.AllowN(now, 1)
}

// judgedTurn is the last turn of a session.
type judgedTurn struct {
	key     string
	owner   string
	receipt ken.Receipt
	before  []ken.Message // up to the person's message, the newest
	answer  []ken.Message // what followed
	heard   bool          // the last of answer was heard, and no request had it yet
	next    string        // what the person said then; "" until that is known
	known   []ken.Use     // of answer, before anything was said to it; nil for not yet
}

func judgedKey(owner, session string) string { return owner + "\x00" + session }

// verdicts are what answers used, of some turns of an owner.
type verdicts struct {
	owner    string
	uses     map[string][]ken.Use // by turn
	outcomes []scorer.Outcome     // of those that are known for good
}

// judge adds what a turn's answer used, as far as that is known.
func (v *verdicts) judge(h *judgedTurn, ended bool) {
	uses := h.uses()
	if len(uses) == 0 {
		return
	}
	if v.uses == nil {
		v.uses = map[string][]ken.Use{}
	}
	v.uses[h.receipt.Turn] = uses
	if ended {
		v.outcomes = append(v.outcomes, scorer.Outcome{Ranking: h.receipt.Ranking, Used: uses, Shown: scorer.ShownOf(h.receipt.Items)})
	}
}

// judgeRecords takes up records of turns and answers, in their order, and judges. It runs on
// the recorder's goroutine.
func (l *Layer) judgeRecords(owner string, recs []record) (v verdicts) {
	v.owner = owner
	defer l.unjudged(&v)
	l.judgements.work.Lock()
	defer l.judgements.work.Unlock()
	for i := range recs {
		r := &recs[i]
		if !r.note || r.about.ID == "" {
			continue
		}
		key := judgedKey(owner, r.about.ID)
		switch h := l.judgements.find(key); {
		case r.answer != nil && (r.unkept || h == nil || len(r.messages) == 0): // of a turn that leaves nothing, or that had no block
		case r.answer != nil:
			if h.addAnswer(r.messages[0]) {
				v.judge(h, false)
			}
		case r.unkept: // it ends the turn before, and is no word on it
			if h = l.judgements.take(key); h != nil {
				v.judge(h, true)
			}
		case r.receipt != nil && l.cfg.Middleware.Inject:
			l.turn(key, r, &v)
		}
	}
	return v
}

// unjudged, deferred, stops a panic: nothing is learned then.
func (l *Layer) unjudged(v *verdicts) {
	if p := recover(); p != nil {
		l.o.Log.Error("judge what answers used", "panic", p)
		*v = verdicts{owner: v.owner}
	}
}

// turn takes up a request: of the session's last turn, or of a new one, which ends
// that.
func (l *Layer) turn(key string, r *record, v *verdicts) {
	last := lastUser(r.messages)
	if last < 0 {
		return
	}
	h := l.judgements.find(key)
	if h != nil && h.receipt.Turn == r.receipt.Turn {
		h.setAnswer(r.messages[last+1:])
		return
	}
	if h != nil {
		l.judgements.take(key)
		h.end(r.messages[:last], r.messages[last].Text)
		v.judge(h, true)
	}
	if len(r.receipt.Items) == 0 || !l.judgements.room(l.now()) {
		return
	}
	next := &judgedTurn{key: key, owner: v.owner, receipt: r.receipt.Receipt, before: newest(r.messages[:last+1])}
	next.setAnswer(r.messages[last+1:])
	if old := l.judgements.put(next); old != nil {
		v.judge(old, true)
	}
}

// newest are the last of messages, as much of them as is kept. It shares nothing with
// them.
func newest(msgs []ken.Message) (out []ken.Message) {
	room := heedBytes
	from := len(msgs)
	for from > 0 && len(msgs)-from < heedMessages && room > 0 {
		from--
		room -= len(msgs[from].Text)
	}
	for _, m := range msgs[from:] {
		out = append(out, short(m))
	}
	return out
}

// short is a message as it is kept: a copy, since its words are a part of a request
// that may be long.
func short(m ken.Message) ken.Message {
	out := ken.Message{Role: m.Role, Text: strings.Clone(m.Text[:min(len(m.Text), heedBytes)]), ToolCallID: strings.Clone(m.ToolCallID)}
	for _, c := range m.ToolCalls[:min(len(m.ToolCalls), heedMessages)] {
		out.ToolCalls = append(out.ToolCalls, ken.ToolCall{ID: strings.Clone(c.ID), Arguments: strings.Clone(c.Arguments[:min(len(c.Arguments), heedBytes)])})
	}
	return out
}

// setAnswer takes up what a request of the turn carries behind the person's message.
func (h *judgedTurn) setAnswer(msgs []ken.Message) {
	if len(msgs) == 0 {
		return
	}
	answer := newest(msgs)
	if !slices.EqualFunc(answer, h.answer, same) {
		h.known = nil
	}
	h.answer, h.heard = answer, false
}

// same reports messages that are kept alike.
func same(a, b ken.Message) bool {
	return a.Role == b.Role && a.Text == b.Text && a.ToolCallID == b.ToolCallID && slices.Equal(a.ToolCalls, b.ToolCalls)
}

// addAnswer takes up an answer, and reports whether it is worth to judge what is known of the
// turn now. To read the block's items costs as much as the rest of what is written of a
// turn: it is not done for an answer that came before, and not for a step of the turn,
// whose calls have no results yet.
func (h *judgedTurn) addAnswer(m ken.Message) bool {
	said := short(m)
	if h.heard { // asked again: the later one is what goes on
		if n := len(h.answer) - 1; same(h.answer[n], said) {
			return false
		}
		h.answer = h.answer[:len(h.answer)-1]
	}
	h.answer, h.heard, h.known = append(h.answer, said), true, nil
	return len(m.ToolCalls) == 0
}

// end takes up that the person goes on. What the next request has between the two
// messages of the person is the whole answer, with the results of tools.
func (h *judgedTurn) end(before []ken.Message, next string) {
	from := len(before)
	for from > 0 && (before[from-1].Role != "user" || budgeter.IsBlock(before[from-1].Text)) {
		from--
	}
	if asked := h.before[len(h.before)-1].Text; from > 0 && short(before[from-1]).Text == asked {
		h.setAnswer(before[from:])
	}
	h.next = short(ken.Message{Text: next}).Text
}

// uses judges the turn as far as it is known. Most are judged twice, when the answer is
// heard and when the person goes on, and the second time there is nothing new.
func (h *judgedTurn) uses() []ken.Use {
	if use.Objects(h.next) {
		return use.Judge(use.Exchange{Items: h.receipt.Items, Before: h.before, Answer: h.answer, Next: h.next})
	}
	if h.known == nil {
		h.known = use.Judge(use.Exchange{Items: h.receipt.Items, Before: h.before, Answer: h.answer})
	}
	return h.known
}

// write says in the receipts what was used. One that is gone costs no other.
func (v *verdicts) write(tx store.ShelfTx, book *receipt.Book) error {
	for _, turn := range slices.Sorted(maps.Keys(v.uses)) {
		if err := book.AddUse(tx, turn, v.uses[turn]); err != nil && !errors.Is(err, ken.ErrNotFound) && !errors.Is(err, ken.ErrCorrupt) {
			return err
		}
	}
	return nil
}

// bookUse adds to what one transaction writes of an owner what answers used, and what
// is learned from it: run write in it, nil for nothing, and settled when it is durable.
// What fails of it is left out.
func (l *Layer) bookUse(ctx context.Context, v verdicts, write func(store.ShelfTx, []session.Noted) error) (both func(store.ShelfTx, []session.Noted) error, settled func()) {
	if len(v.uses) == 0 {
		return write, func() {}
	}
	learner, book := l.Learner(v.owner), l.Receipts(v.owner)
	if err := learner.Load(ctx); err != nil {
		l.o.Log.Warn("keep what answers used", "turns", len(v.uses), "cause", err, "try", ken.Hint(err))
		return write, func() {}
	}
	taken := func() {}
	return func(tx store.ShelfTx, noted []session.Noted) error {
		taken = func() {}
		if write != nil {
			if err := write(tx, noted); err != nil {
				return err
			}
		}
		o := store.NewOverlay(tx)
		did, err := learner.Take(o, v.outcomes)
		if err == nil {
			err = v.write(o, book)
		}
		if err != nil {
			l.o.Log.Warn("keep what answers used", "turns", len(v.uses), "cause", err, "try", ken.Hint(err))
			return nil
		}
		taken = did
		return o.Apply(tx)
	}, func() { taken() }
}

// settle judges turns for good that nothing more will be heard of.
func (l *Layer) settle(ctx context.Context, owner string, done []*judgedTurn) {
	v := l.judged(owner, done)
	both, settled := l.bookUse(ctx, v, nil)
	if both == nil {
		return
	}
	if err := (tenant{l, owner}).Update(ctx, func(tx store.ShelfTx) error { return both(tx, nil) }); err != nil {
		l.o.Log.Warn("keep what answers used", "cause", err, "try", ken.Hint(err))
		return
	}
	settled()
}

// judged are the verdicts on turns that nothing more will be heard of.
func (l *Layer) judged(owner string, done []*judgedTurn) (v verdicts) {
	v.owner = owner
	defer l.unjudged(&v)
	l.judgements.work.Lock()
	defer l.judgements.work.Unlock()
	for _, h := range done {
		v.judge(h, true)
	}
	return v
}

// judgeAll judges for good what waits. Nothing is recorded any more.
func (l *Layer) judgeAll() {
	byOwner := map[string][]*judgedTurn{}
	for _, h := range l.judgements.all() {
		byOwner[h.owner] = append(byOwner[h.owner], h)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWait)
	defer cancel()
	for _, owner := range slices.Sorted(maps.Keys(byOwner)) {
		l.settle(ctx, owner, byOwner[owner])
	}
}

// judgeSession judges for good the last turn of a session that ends. Of one that is deleted
// nothing is learned.
func (l *Layer) judgeSession(ctx context.Context, owner, id string, deleted bool) {
	owner = l.owned(owner)
	if h := l.judgements.take(judgedKey(owner, id)); h != nil && !deleted {
		l.settle(ctx, owner, []*judgedTurn{h})
	}
}

// forgetUse takes claims that are gone out of what is known of their use.
func (l *Layer) forgetUse(ctx context.Context, owner string, ids []string) error {
	return l.Learner(owner).Forget(ctx, ids...)
}

// find returns a session's last turn, nil when there is none.
func (hs *judgedTurns) find(key string) *judgedTurn {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	el, ok := hs.at[key]
	if !ok {
		return nil
	}
	hs.used.MoveToFront(el)
	return el.Value.(*judgedTurn)
}

// take removes and returns a session's last turn.
func (hs *judgedTurns) take(key string) *judgedTurn {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	el, ok := hs.at[key]
	if !ok {
		return nil
	}
	delete(hs.at, key)
	return hs.used.Remove(el).(*judgedTurn)
}

// put keeps a turn, and returns the one of the same owner that there is no room for
// any more. What goes of another owner's is lost: it can't be written from here.
func (hs *judgedTurns) put(h *judgedTurn) (old *judgedTurn) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.at == nil {
		hs.at, hs.used = map[string]*list.Element{}, list.New()
	}
	hs.at[h.key] = hs.used.PushFront(h)
	if hs.used.Len() <= maxHeeds {
		return nil
	}
	last := hs.used.Remove(hs.used.Back()).(*judgedTurn)
	delete(hs.at, last.key)
	if last.owner != h.owner {
		return nil
	}
	return last
}

// all removes and returns everything, the oldest first.
func (hs *judgedTurns) all() (out []*judgedTurn) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.used == nil {
		return nil
	}
	for el := hs.used.Back(); el != nil; el = el.Prev() {
		out = append(out, el.Value.(*judgedTurn))
	}
	hs.at, hs.used = nil, nil
	return out
}

// drop forgets what waits of an owner.
func (hs *judgedTurns) drop(owner string) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for key, el := range hs.at {
		if strings.HasPrefix(key, owner+"\x00") {
			hs.used.Remove(el)
			delete(hs.at, key)
		}
	}
}

// learners are the owners' memories of what was of use, made on first use. The zero
// value is ready.
type learners struct {
	mu sync.Mutex // guards m
	m  map[string]*scorer.Learner
}

// Learner is what an owner's answers used, "" for the configured owner's, and the
// order learned from it.
func (l *Layer) Learner(owner string) *scorer.Learner {
	owner = l.owned(owner)
	l.learners.mu.Lock()
	defer l.learners.mu.Unlock()
	if have := l.learners.m[owner]; have != nil {
		return have
	}
	if l.learners.m == nil {
		l.learners.m = map[string]*scorer.Learner{}
	}
	made := scorer.NewLearner(tenant{l, owner}, scorer.Options{Mode: scorerMode(&l.cfg), Now: l.now, Log: l.o.Log})
	l.learners.m[owner] = made
	return made
}

func scorerMode(c *config.Config) scorer.Mode {
	switch c.Structure.Scorer {
	case config.ScorerOff:
		return scorer.ModeOff
	case config.ScorerOn:
		return scorer.ModeOn
	}
	return scorer.ModeAuto
}

// loadShare is how much of a turn's deadline it waits, once, for what was learned: a
// third, for the legs have theirs still before them. It is at hand where this process
// holds the folder.
const loadShare = 3

// learned adds to how a turn searches what was learned from use. It fails open.
func (l *Layer) learned(ctx context.Context, st *State, o *retriever.Options) {
	learner := l.Learner(st.Turn.Owner)
	ctx, cancel := context.WithTimeout(ctx, o.Deadline/loadShare)
	defer cancel()
	if err := learner.Load(ctx); err != nil {
		st.degrade("scorer", err)
		return
	}
	if o.Structure != nil {
		s := *o.Structure
		s.Utility = learner
		o.Structure = &s
	}
	guard := learner.InForce()
	logs := learner.Explores() && l.judges(&st.Turn)
	if st.trial != nil {
		guard, logs = learner.InForceAs(scorerMode(&st.trial.cfg)), false
	}
	if guard == nil && !logs {
		return
	}
	o.Learned = &retriever.Learned{Earlier: learner.Earlier}
	if guard != nil {
		o.Learned.Scorer = guard
	}
	if logs {
		o.Learned.Explore = scorer.Explorer{}.Explore
	}
}

// judges reports whether it will be known which items a turn's answer used: there is
// a session to hear it in, a receipt to keep it with, and a model that reads the block.
func (l *Layer) judges(t *ken.Turn) bool {
	return l.remembers(t) && l.keepsReceipt(t) && l.cfg.Middleware.Inject
}
