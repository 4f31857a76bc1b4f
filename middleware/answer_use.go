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
	"github.com/kenlayer/ken/internal/store/overlay"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// Bounds of the turns that wait to be judged: turns, messages of one, and bytes.
const (
	maxJudgedTurns    = 512
	maxJudgedMessages = 64
	maxJudgedBytes    = 32 << 10 // of the messages before, of those after, and of one message
)

// judgedRate is how many turns are judged a second, and judgedBurst how many at once after a
// quiet time. Judging a turn costs as much as composing it, and a sample teaches the order of
// items as well. Turns that come faster are answered and not judged.
const (
	judgedRate  = 20
	judgedBurst = 400
)

// judgedTurns holds the last turns of sessions until their answers were judged: which items of
// the block did the answer use? That is known in part once the answer was observed, and for
// good once the person goes on, who may object to it. It lives in memory only; turns of a
// process that dies are not learned from. The zero value is ready.
type judgedTurns struct {
	turnsMu sync.Mutex // guards the turns' content

	mu     sync.Mutex // guards the rest
	byKey  map[string]*list.Element
	recent *list.List // of *judgedTurn, the latest first
	limit  *rate.Limiter
}

// allow reports whether one more turn may be judged.
func (h *judgedTurns) allow(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.limit == nil {
		h.limit = rate.NewLimiter(judgedRate, judgedBurst)
	}
	return h.limit.AllowN(now, 1)
}

// judgedTurn is the last turn of a session.
type judgedTurn struct {
	key          string
	owner        string
	receipt      ken.Receipt
	before       []ken.Message // the messages up to the person's, the newest
	answer       []ken.Message // the messages after it
	fromResponse bool          // the last message of answer was read from a response, and no request had it yet
	followUp     string        // what the person said next; "" if unknown
	cachedUses   []ken.Use     // the judgement of answer without followUp; nil if not made
}

func judgedKey(owner, session string) string { return owner + "\x00" + session }

// verdicts are what answers used, in some turns of an owner.
type verdicts struct {
	owner    string
	uses     map[string][]ken.Use // by turn
	outcomes []scorer.Outcome     // of turns that were judged for good
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

// judgeRecords judges turns by records of requests and answers, in their order. It runs on the
// recorder's goroutine.
func (l *Layer) judgeRecords(owner string, recs []record) (v verdicts) {
	v.owner = owner
	defer l.recoverJudging(&v)
	l.judgements.turnsMu.Lock()
	defer l.judgements.turnsMu.Unlock()
	for i := range recs {
		r := &recs[i]
		if !r.journaled || r.about.ID == "" {
			continue
		}
		key := judgedKey(owner, r.about.ID)
		switch h := l.judgements.get(key); {
		case r.answer != nil && (r.incognito || h == nil || len(r.messages) == 0): // of an incognito turn, or of one without a block
		case r.answer != nil:
			if h.addAnswer(r.messages[0]) {
				v.judge(h, false)
			}
		case r.incognito: // it ends the turn before and says nothing about it
			if h = l.judgements.take(key); h != nil {
				v.judge(h, true)
			}
		case r.receipt != nil && l.cfg.Middleware.Inject:
			l.judgeRequest(key, r, &v)
		}
	}
	return v
}

// recoverJudging is deferred. After a panic nothing is learned.
func (l *Layer) recoverJudging(v *verdicts) {
	if p := recover(); p != nil {
		l.o.Log.Error("judge what answers used", "panic", p)
		*v = verdicts{owner: v.owner}
	}
}

// judgeRequest takes a request of the session's last turn, or of a new turn, which ends the
// last one.
func (l *Layer) judgeRequest(key string, r *record, v *verdicts) {
	last := lastUser(r.messages)
	if last < 0 {
		return
	}
	h := l.judgements.get(key)
	if h != nil && h.receipt.Turn == r.receipt.Turn {
		h.setAnswer(r.messages[last+1:])
		return
	}
	if h != nil {
		l.judgements.take(key)
		h.end(r.messages[:last], r.messages[last].Text)
		v.judge(h, true)
	}
	if len(r.receipt.Items) == 0 || !l.judgements.allow(l.now()) {
		return
	}
	next := &judgedTurn{key: key, owner: v.owner, receipt: r.receipt.Receipt, before: lastMessages(r.messages[:last+1])}
	next.setAnswer(r.messages[last+1:])
	if old := l.judgements.put(next); old != nil {
		v.judge(old, true)
	}
}

// lastMessages returns copies of the newest messages, within the bounds.
func lastMessages(msgs []ken.Message) (out []ken.Message) {
	room := maxJudgedBytes
	from := len(msgs)
	for from > 0 && len(msgs)-from < maxJudgedMessages && room > 0 {
		from--
		room -= len(msgs[from].Text)
	}
	for _, m := range msgs[from:] {
		out = append(out, truncatedMessage(m))
	}
	return out
}

// truncatedMessage returns a shortened copy of a message, which shares no memory with its
// request.
func truncatedMessage(m ken.Message) ken.Message {
	out := ken.Message{Role: m.Role, Text: strings.Clone(m.Text[:min(len(m.Text), maxJudgedBytes)]), ToolCallID: strings.Clone(m.ToolCallID)}
	for _, c := range m.ToolCalls[:min(len(m.ToolCalls), maxJudgedMessages)] {
		out.ToolCalls = append(out.ToolCalls, ken.ToolCall{ID: strings.Clone(c.ID), Arguments: strings.Clone(c.Arguments[:min(len(c.Arguments), maxJudgedBytes)])})
	}
	return out
}

// setAnswer replaces the answer by what a request carries after the person's message.
func (h *judgedTurn) setAnswer(msgs []ken.Message) {
	if len(msgs) == 0 {
		return
	}
	answer := lastMessages(msgs)
	if !slices.EqualFunc(answer, h.answer, sameMessage) {
		h.cachedUses = nil
	}
	h.answer, h.fromResponse = answer, false
}

// sameMessage reports whether two messages are equal, as they are kept.
func sameMessage(a, b ken.Message) bool {
	return a.Role == b.Role && a.Text == b.Text && a.ToolCallID == b.ToolCallID && slices.Equal(a.ToolCalls, b.ToolCalls)
}

// addAnswer adds a message from a response, and reports whether to judge the turn now. Reading
// the block's items costs as much as everything else that is written of a turn. So the turn is
// not judged for a repeated answer, nor for a step of a tool loop, whose calls have no results
// yet.
func (h *judgedTurn) addAnswer(m ken.Message) bool {
	said := truncatedMessage(m)
	if h.fromResponse { // the same request again: the later answer counts
		if n := len(h.answer) - 1; sameMessage(h.answer[n], said) {
			return false
		}
		h.answer = h.answer[:len(h.answer)-1]
	}
	h.answer, h.fromResponse, h.cachedUses = append(h.answer, said), true, nil
	return len(m.ToolCalls) == 0
}

// end notes that the person went on. The next request has the whole answer, with results of
// tools, between the person's two messages.
func (h *judgedTurn) end(before []ken.Message, next string) {
	from := len(before)
	for from > 0 && (before[from-1].Role != "user" || budgeter.IsBlock(before[from-1].Text)) {
		from--
	}
	if asked := h.before[len(h.before)-1].Text; from > 0 && truncatedMessage(before[from-1]).Text == asked {
		h.setAnswer(before[from:])
	}
	h.followUp = truncatedMessage(ken.Message{Text: next}).Text
}

// uses judges the turn as far as it is known. Most turns are judged twice, when the answer was
// observed and when the person goes on; the second time nothing is new.
func (h *judgedTurn) uses() []ken.Use {
	if use.Objects(h.followUp) {
		return use.Judge(use.Exchange{Items: h.receipt.Items, Before: h.before, Answer: h.answer, Next: h.followUp})
	}
	if h.cachedUses == nil {
		h.cachedUses = use.Judge(use.Exchange{Items: h.receipt.Items, Before: h.before, Answer: h.answer})
	}
	return h.cachedUses
}

// write adds the uses to the receipts. A receipt that is gone is skipped.
func (v *verdicts) write(tx store.ShelfTx, book *receipt.Book) error {
	for _, turn := range slices.Sorted(maps.Keys(v.uses)) {
		if err := book.AddUse(tx, turn, v.uses[turn]); err != nil && !errors.Is(err, ken.ErrNotFound) && !errors.Is(err, ken.ErrCorrupt) {
			return err
		}
	}
	return nil
}

// useWriter returns a function that writes what answers used, and what is learned from it,
// after write in the same transaction. Call settled when that is durable. What fails of it is
// left out.
func (l *Layer) useWriter(ctx context.Context, v verdicts, write func(store.ShelfTx, []session.Noted) error) (both func(store.ShelfTx, []session.Noted) error, settled func()) {
	if len(v.uses) == 0 {
		return write, func() {}
	}
	learner, book := l.Operator().Learner(v.owner), l.Operator().Receipts(v.owner)
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
		o := overlay.New(tx)
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

// finishJudging judges for good turns that will get no more messages.
func (l *Layer) finishJudging(ctx context.Context, owner string, done []*judgedTurn) {
	v := l.finalVerdicts(owner, done)
	both, settled := l.useWriter(ctx, v, nil)
	if both == nil {
		return
	}
	if err := (ownerStore{l, owner}).Update(ctx, func(tx store.ShelfTx) error { return both(tx, nil) }); err != nil {
		l.o.Log.Warn("keep what answers used", "cause", err, "try", ken.Hint(err))
		return
	}
	settled()
}

// finalVerdicts returns the verdicts on turns that will get no more messages.
func (l *Layer) finalVerdicts(owner string, done []*judgedTurn) (v verdicts) {
	v.owner = owner
	defer l.recoverJudging(&v)
	l.judgements.turnsMu.Lock()
	defer l.judgements.turnsMu.Unlock()
	for _, h := range done {
		v.judge(h, true)
	}
	return v
}

// judgeAll judges all waiting turns for good, after the recorder was closed.
func (l *Layer) judgeAll() {
	byOwner := map[string][]*judgedTurn{}
	for _, h := range l.judgements.takeAll() {
		byOwner[h.owner] = append(byOwner[h.owner], h)
	}
	ctx, cancel := context.WithTimeout(context.Background(), journalWait)
	defer cancel()
	for _, owner := range slices.Sorted(maps.Keys(byOwner)) {
		l.finishJudging(ctx, owner, byOwner[owner])
	}
}

// judgeSession judges the last turn of a session that ends. Nothing is learned from a deleted
// one.
func (l *Layer) judgeSession(ctx context.Context, owner, id string, deleted bool) {
	owner = l.ownerOrDefault(owner)
	if h := l.judgements.take(judgedKey(owner, id)); h != nil && !deleted {
		l.finishJudging(ctx, owner, []*judgedTurn{h})
	}
}

// forgetUse removes forgotten claims from what was learned of their use.
func (l *Layer) forgetUse(ctx context.Context, owner string, ids []string) error {
	return l.Operator().Learner(owner).Forget(ctx, ids...)
}

// get returns a session's last turn; nil for none.
func (hs *judgedTurns) get(key string) *judgedTurn {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	el, ok := hs.byKey[key]
	if !ok {
		return nil
	}
	hs.recent.MoveToFront(el)
	return el.Value.(*judgedTurn)
}

// take removes and returns a session's last turn.
func (hs *judgedTurns) take(key string) *judgedTurn {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	el, ok := hs.byKey[key]
	if !ok {
		return nil
	}
	delete(hs.byKey, key)
	return hs.recent.Remove(el).(*judgedTurn)
}

// put adds a turn. If there are too many, it drops the oldest, and returns it if the owner is
// the same. Another owner's verdict can't be written here, and is lost.
func (hs *judgedTurns) put(h *judgedTurn) (old *judgedTurn) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.byKey == nil {
		hs.byKey, hs.recent = map[string]*list.Element{}, list.New()
	}
	hs.byKey[h.key] = hs.recent.PushFront(h)
	if hs.recent.Len() <= maxJudgedTurns {
		return nil
	}
	last := hs.recent.Remove(hs.recent.Back()).(*judgedTurn)
	delete(hs.byKey, last.key)
	if last.owner != h.owner {
		return nil
	}
	return last
}

// takeAll removes and returns all turns, the oldest first.
func (hs *judgedTurns) takeAll() (out []*judgedTurn) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.recent == nil {
		return nil
	}
	for el := hs.recent.Back(); el != nil; el = el.Prev() {
		out = append(out, el.Value.(*judgedTurn))
	}
	hs.byKey, hs.recent = nil, nil
	return out
}

// dropOwner drops an owner's turns.
func (hs *judgedTurns) dropOwner(owner string) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for key, el := range hs.byKey {
		if strings.HasPrefix(key, owner+"\x00") {
			hs.recent.Remove(el)
			delete(hs.byKey, key)
		}
	}
}

// learners holds the learner of each owner, made on first use. The zero value is ready.
type learners struct {
	mu sync.Mutex // guards m
	m  map[string]*scorer.Learner
}

// drop forgets an owner's learner. The next one reads what the shelf has.
func (l *learners) drop(owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.m, owner)
}

// Learner returns what an owner's answers used, "" for the configured owner, and the order of
// items learned from it.
func (l operator) Learner(owner string) *scorer.Learner {
	owner = l.ownerOrDefault(owner)
	l.learners.mu.Lock()
	defer l.learners.mu.Unlock()
	if have := l.learners.m[owner]; have != nil {
		return have
	}
	if l.learners.m == nil {
		l.learners.m = map[string]*scorer.Learner{}
	}
	made := scorer.NewLearner(ownerStore{l.Layer, owner}, scorer.Options{Mode: scorerMode(&l.cfg), Now: l.now, Log: l.o.Log})
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

// loadFraction is the part of a turn's deadline that a turn waits, once, for what was learned:
// a third. The process that holds the folder has it at hand.
const loadFraction = 3

// applyLearned adds to the search options what was learned from use. It fails open.
func (l *Layer) applyLearned(ctx context.Context, st *State, o *retriever.Options) {
	learner := l.Operator().Learner(st.Turn.Owner)
	ctx, cancel := context.WithTimeout(ctx, o.Deadline/loadFraction)
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
	logs := learner.Explores() && l.willJudge(&st.Turn)
	if st.dryRun != nil {
		guard, logs = learner.InForceAs(scorerMode(&st.dryRun.cfg)), false
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

// willJudge reports whether a turn's answer will be judged: that needs a session, a receipt,
// and a model that reads the block.
func (l *Layer) willJudge(t *ken.Turn) bool {
	return l.usesSession(t) && l.keepsReceipt(t) && l.cfg.Middleware.Inject
}
