package middleware

import (
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
	"github.com/kenlayer/ken/internal/lru"
	"github.com/kenlayer/ken/internal/retriever/scorer"
	"github.com/kenlayer/ken/internal/retriever/scorer/use"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/overlay"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// Bounds of the turns that wait to be judged.
const (
	maxJudgedTurns    = 512
	maxJudgedMessages = 64       // messages before the answer, and messages of the answer
	maxJudgedBytes    = 32 << 10 // bytes of the messages before the answer, of those in it, and of one message
)

// judgedRate is how many turns are judged per second. judgedBurst is how many may be judged at once
// after a pause. Judging a turn costs as much as composing its block, and a sample of turns is
// enough to learn from. Turns beyond the rate are answered and not judged.
const (
	judgedRate  = 20
	judgedBurst = 400
)

// judgedTurns holds the last turn of each session until its answer is judged, that is, until the
// layer knows which items of the block the answer used. A first verdict follows the answer; the
// final one follows the user's next message, which may object to the answer. Turns are held in
// memory only, so those of a process that is killed are not learned from. The zero value is ready.
type judgedTurns struct {
	turnsMu sync.Mutex // guards the turns' content

	mu    sync.Mutex // guards the rest
	turns lru.List[sessionKey, *judgedTurn]
	limit *rate.Limiter
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

// judgedTurn is the last turn of a session, with its messages so far.
type judgedTurn struct {
	sessionKey
	receipt      ken.Receipt
	before       []ken.Message // the messages up to and including the user's message
	answer       []ken.Message // the messages after the user's message
	fromResponse bool          // the last message of answer comes from a response and was not in a request yet
	followUp     string        // the user's next message; "" if unknown
	cachedUses   []ken.Use     // the items that answer used, without regard to followUp; nil if not judged yet
}

// verdicts lists the items that answers used, for some turns of one owner.
type verdicts struct {
	owner    string
	uses     map[string][]ken.Use // by turn id
	outcomes []scorer.Outcome     // of turns with a final verdict
}

// judge adds the items that the answer used so far. ended marks the verdict as final.
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

// judgeRecords judges the turns that the records of requests and answers belong to, in the order of
// the records. It runs on the recorder's goroutine.
func (l *Layer) judgeRecords(owner string, recs []record) verdicts {
	return l.judging(owner, func(v *verdicts) { l.judgeEach(owner, recs, v) })
}

// judging returns the verdicts that judge fills in; none after a panic.
func (l *Layer) judging(owner string, judge func(*verdicts)) verdicts {
	l.judgements.turnsMu.Lock()
	defer l.judgements.turnsMu.Unlock()
	v := verdicts{owner: owner}
	if !l.guarded("judge what answers used", func() { judge(&v) }) {
		return verdicts{owner: owner}
	}
	return v
}

func (l *Layer) judgeEach(owner string, recs []record, v *verdicts) {
	for i := range recs {
		r := &recs[i]
		if !r.journaled || r.about.ID == "" {
			continue
		}
		key := sessionKey{owner, r.about.ID}
		switch h := l.judgements.get(key); {
		case r.answer != nil && (r.incognito || h == nil || len(r.messages) == 0): // the turn is incognito or has no block
		case r.answer != nil:
			if h.addAnswer(r.messages[0]) {
				v.judge(h, false)
			}
		case r.incognito: // it ends the turn before, and its text is not used to judge that turn
			if h = l.judgements.take(key); h != nil {
				v.judge(h, true)
			}
		case r.receipt != nil && l.cfg.Middleware.Inject:
			l.judgeRequest(key, r, v)
		}
	}
}

// judgeRequest handles a request of the session's last turn, or of a new turn. A new turn ends the
// last one.
func (l *Layer) judgeRequest(key sessionKey, r *record, v *verdicts) {
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
	next := &judgedTurn{sessionKey: key, receipt: r.receipt.Receipt, before: lastMessages(r.messages[:last+1])}
	next.setAnswer(r.messages[last+1:])
	if old := l.judgements.put(next); old != nil {
		v.judge(old, true)
	}
}

// lastMessages returns copies of the newest messages, within maxJudgedMessages and maxJudgedBytes.
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

// truncatedMessage returns a shortened copy of a message. The copy shares no memory with the
// request.
func truncatedMessage(m ken.Message) ken.Message {
	out := ken.Message{Role: m.Role, Text: strings.Clone(m.Text[:min(len(m.Text), maxJudgedBytes)]), ToolCallID: strings.Clone(m.ToolCallID)}
	for _, c := range m.ToolCalls[:min(len(m.ToolCalls), maxJudgedMessages)] {
		out.ToolCalls = append(out.ToolCalls, ken.ToolCall{ID: strings.Clone(c.ID), Arguments: strings.Clone(c.Arguments[:min(len(c.Arguments), maxJudgedBytes)])})
	}
	return out
}

// setAnswer replaces the answer by the messages that follow the user's message in a request.
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

// sameMessage reports whether two truncated messages are equal.
func sameMessage(a, b ken.Message) bool {
	return a.Role == b.Role && a.Text == b.Text && a.ToolCallID == b.ToolCallID && slices.Equal(a.ToolCalls, b.ToolCalls)
}

// addAnswer adds a message from a response and reports whether to judge the turn now. Judging reads
// the block's items, which costs as much as all other writes for a turn. So a repeated answer is
// not judged, and neither is a step of a tool loop: its calls have no results yet.
func (h *judgedTurn) addAnswer(m ken.Message) bool {
	said := truncatedMessage(m)
	if h.fromResponse { // the same request was sent again: the later answer counts
		if n := len(h.answer) - 1; sameMessage(h.answer[n], said) {
			return false
		}
		h.answer = h.answer[:len(h.answer)-1]
	}
	h.answer, h.fromResponse, h.cachedUses = append(h.answer, said), true, nil
	return len(m.ToolCalls) == 0
}

// end ends the turn. next is the user's next message, and before the messages that the next request
// carries before it. These hold the complete answer, with the results of tools.
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

// uses returns the items that the answer used, as far as its messages are known. Most turns are
// judged twice: after the answer and after the user's next message. The second time the cached
// result is returned, unless the user objects.
func (h *judgedTurn) uses() []ken.Use {
	if use.Objects(h.followUp) {
		return use.Judge(use.Exchange{Items: h.receipt.Items, Before: h.before, Answer: h.answer, Next: h.followUp})
	}
	if h.cachedUses == nil {
		h.cachedUses = use.Judge(use.Exchange{Items: h.receipt.Items, Before: h.before, Answer: h.answer})
	}
	return h.cachedUses
}

// write adds the uses to the receipts. It skips receipts that were deleted or are corrupt.
func (v *verdicts) write(tx store.ShelfTx, book *receipt.Book) error {
	for _, turn := range slices.Sorted(maps.Keys(v.uses)) {
		if err := book.AddUse(tx, turn, v.uses[turn]); err != nil && !errors.Is(err, ken.ErrNotFound) && !errors.Is(err, ken.ErrCorrupt) {
			return err
		}
	}
	return nil
}

// useWriter returns a function that runs write, and then, in the same transaction, stores the items
// that answers used and what is learned from them. Call settled once the transaction is durable. If
// storing the uses fails, it logs the error and stores none of them.
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

// finishJudging gives final verdicts on turns that will get no more messages, and stores them.
func (l *Layer) finishJudging(ctx context.Context, owner string, done []*judgedTurn) {
	v := l.judging(owner, func(v *verdicts) {
		for _, h := range done {
			v.judge(h, true)
		}
	})
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

// judgeAll gives final verdicts on all waiting turns. Call it after the recorder is closed.
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

// judgeSession judges the last turn of a session that ends. From a deleted session nothing is
// learned.
func (l *Layer) judgeSession(ctx context.Context, owner, id string, deleted bool) {
	owner = l.ownerOrDefault(owner)
	if h := l.judgements.take(sessionKey{owner, id}); h != nil && !deleted {
		l.finishJudging(ctx, owner, []*judgedTurn{h})
	}
}

// forgetUse removes deleted claims from the data that the learner keeps about their use.
func (l *Layer) forgetUse(ctx context.Context, owner string, ids []string) error {
	return l.Operator().Learner(owner).Forget(ctx, ids...)
}

// get returns a session's last turn; nil if there is none.
func (hs *judgedTurns) get(key sessionKey) *judgedTurn {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h, _ := hs.turns.Get(key)
	return h
}

// take removes and returns a session's last turn; nil if there is none.
func (hs *judgedTurns) take(key sessionKey) *judgedTurn {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h, _ := hs.turns.Take(key)
	return h
}

// put adds a turn. If there are then too many, it drops the oldest one. It returns the dropped turn
// only if that has the same owner: the caller can't write another owner's verdict.
func (hs *judgedTurns) put(h *judgedTurn) (old *judgedTurn) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.turns.Put(h.sessionKey, h); hs.turns.Len() <= maxJudgedTurns {
		return nil
	}
	if _, old = hs.turns.TakeOldest(); old.owner != h.owner {
		return nil
	}
	return old
}

// takeAll removes and returns all turns, the oldest first.
func (hs *judgedTurns) takeAll() (out []*judgedTurn) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for hs.turns.Len() > 0 {
		_, h := hs.turns.TakeOldest()
		out = append(out, h)
	}
	return out
}

func (hs *judgedTurns) dropOwner(owner string) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for key := range hs.turns.All() {
		if key.owner == owner {
			hs.turns.Take(key)
		}
	}
}

// learners holds the learner of each owner, made on first use. The zero value is ready.
type learners struct {
	mu sync.Mutex // guards m
	m  map[string]*scorer.Learner
}

// drop removes an owner's learner. The next one reads its state from the shelf again.
func (l *learners) drop(owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.m, owner)
}

// Learner returns an owner's learner: the record of which items the answers used, and the order of
// items learned from it. "" means the configured owner.
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

// loadFraction divides the search deadline: a turn waits at most a third of it for the learner's
// state to be read. In the process that holds the store the state is in memory after the first
// turn.
const loadFraction = 3

// applyLearned adds the learned order to the search options. After an error the turn goes on
// without it.
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
	order := learner.InForce()
	logs := learner.Explores() && l.willJudge(&st.Turn)
	if st.dryRun != nil {
		order, logs = learner.InForceAs(scorerMode(&st.dryRun.cfg)), false
	}
	if order == nil && !logs {
		return
	}
	o.Learned = &retriever.Learned{Earlier: learner.Earlier}
	if order != nil {
		o.Learned.Order = order.Order
	}
	if logs {
		o.Learned.Explore = scorer.Explore
	}
}

// willJudge reports whether a turn's answer will be judged. That needs a session, a receipt, and a
// block that is sent to the model.
func (l *Layer) willJudge(t *ken.Turn) bool {
	return l.usesSession(t) && l.keepsReceipt(t) && l.cfg.Middleware.Inject
}
