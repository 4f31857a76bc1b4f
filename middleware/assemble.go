package middleware

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/run/telemetry"
	"github.com/kenlayer/ken/store"
)

// Insertion is a block and its place in the conversation.
type Insertion struct {
	// Before is the index, in the messages as the client sent them, of the
	// message that the block goes before, or into.
	Before int
	// Text is the block.
	Text string
	// Merge puts the block at the head of message Before, followed by an empty
	// line; otherwise it is a user message of its own.
	Merge bool
}

// Assembly is what the layer made of a turn.
type Assembly struct {
	Insertions []Insertion // by rising Before
	Receipt    ken.Receipt

	placed   []placedBlock  // the blocks of Insertions, and the turn's own even if it is empty
	decision    *turnDecision  // the turn's own
	taints *sessionTaints // the external claims that the session's model has read; nil for none

	// context is what the model reads, by where it comes from. It is counted only for who
	// writes it down: an event, or a kept receipt.
	context telemetry.Breakdown
}

// Assemble prepares one model call: it returns what to insert into t.Messages,
// and the receipt. It never fails and never changes t.Messages; the receipt says
// what was lost. It returns at ctx's end at the latest, with what it has.
//
// An empty t.Owner is the configured owner; an empty t.ID gets an id, which the
// later requests of the same turn share.
func (l *Layer) Assemble(ctx context.Context, t ken.Turn) Assembly {
	t.Messages = slices.Clone(t.Messages) // what is left behind at the deadline reads on
	return l.assemble(ctx, &t, upstreamHistory{}, time.Now())
}

// assemble is Assemble for a turn of which some is upstream already, and which began at
// start. It fills in what t leaves out.
func (l *Layer) assemble(ctx context.Context, t *ken.Turn, up upstreamHistory, start time.Time) Assembly {
	l.activeTurns.begin()
	defer l.activeTurns.end()
	named := t.ID != ""
	if !named {
		t.ID = l.newID()
	}
	l.fillDefaults(t)
	at := fingerprintsOf(t)
	a := Assembly{}
	block := &turnDecision{}
	last := lastUser(t.Messages)
	why := skipReason(t, &l.cfg, last)
	switch {
	case why != "":
		a.Receipt = l.emptyReceipt(t, why)
	case last < up.firstSent:
		block = l.upstreamDecision(t, named, up.decisionAt(last))
		a.Receipt = block.receipt
	default:
		var earlier []placedBlock
		earlier, block = l.composeWithinDeadline(ctx, t, named, &at, up, last, start)
		a.Receipt = block.receipt
		if l.cfg.Middleware.Inject {
			a.placed = append(earlier, placedBlock{last, block})
		}
	}
	for _, p := range a.placed {
		if p.text != "" {
			a.Insertions = append(a.Insertions, l.insertion(t.Model, p.index, p.turnDecision))
		}
	}
	if up.missing != "" {
		a.Receipt.Degraded = append(a.Receipt.Degraded[:len(a.Receipt.Degraded):len(a.Receipt.Degraded)], up.missing)
	}
	l.promptCache.count(t, &at, append(l.insertions(t.Model, up.blocks), a.Insertions...), &a.Receipt)
	a.decision = block
	a.Receipt.MS = withEntry(a.Receipt.MS, "total", since(start))
	a.taints = l.observeBlocks(t, append(up.blocks[:len(up.blocks):len(up.blocks)], a.placed...))
	if l.events != nil || l.keepsReceipt(t) {
		a.context = a.breakdown(t)
	}
	l.report(ctx, t, &a, block)
	l.recordTurn(t, &a)
	return a
}

// complete fills in what a turn leaves to the configuration.
func (l *Layer) fillDefaults(t *ken.Turn) {
	t.Owner = l.ownerOrDefault(t.Owner)
	if t.Weight == ken.WeightDefault {
		t.Weight = l.cfg.Retrieval.Weight
	}
	if t.Scopes == nil {
		t.Scopes = l.cfg.Retrieval.Scopes
	}
}

// turnSlack is how long a turn may take beyond retrieval.deadline, which is for its legs: the
// stages before and behind them. Past it, the request goes on without a block.
const turnSlack = 50 * time.Millisecond

// maxOverdue bounds the turns that still compose a block which nobody waits for.
const maxOverdue = 64

// growStack gives the goroutine that calls it a stack as large as a turn needs: growing
// bit by bit, with all that is on it copied each time, costs a turn 5 % of its time.
//
//go:noinline
func growStack() {
	var room [40 << 10]byte
	runtime.KeepAlive(&room)
}

// bounded runs do on a goroutine of its own and returns its result, if it ends within a
// limit. Some calls to a store that does not answer can't be ended: what has not ended by
// then runs on by itself, counts as overdue until it ends, and its result is dropped. The
// context of do ends at the limit. The caller bears a panic of do.
func runWithin[T any](ctx context.Context, l *Layer, limit time.Duration, do func(context.Context) T) (out T, ok bool) {
	within, cancel := context.WithTimeout(ctx, limit)
	type outcome struct {
		result T
		panic  any // nil unless do panicked
	}
	var over atomic.Bool // do has ended, or the caller has stopped waiting
	done := make(chan outcome, 1)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	go func() {
		defer cancel()
		defer func() {
			p := recover()
			if !over.CompareAndSwap(false, true) {
				l.overdue.Add(-1)
			}
			if p != nil {
				done <- outcome{panic: p}
			}
		}()
		growStack()
		done <- outcome{result: do(within)}
	}()
	select {
	case o := <-done:
		if o.panic != nil {
			panic(o.panic)
		}
		return o.result, true
	case <-timer.C: // not at ctx's end: the stages see that, and rules are there in no time
	}
	if over.CompareAndSwap(false, true) {
		l.overdue.Add(1)
	}
	return out, false
}

// composeWithinDeadline finds the blocks of earlier turns and composes this one's, until the turn's
// deadline: see bounded. Past it, the conversation keeps the blocks that are in memory,
// byte for byte.
func (l *Layer) composeWithinDeadline(ctx context.Context, t *ken.Turn, named bool, at *fingerprints, up upstreamHistory, last int, start time.Time) ([]placedBlock, *turnDecision) {
	late := func(why string) ([]placedBlock, *turnDecision) {
		earlier := l.earlierBlocks(ctx, t, at.dialogue, up.firstSent, last, l.findBlockInMemory)
		if c := l.cachedBlock(t.Session, at.dialogue[last]); c != nil && l.cfg.Injection.Sticky && (t.Session != "" || last < len(t.Messages)-1) {
			return earlier, l.reusedDecision(t, named, c)
		}
		r := l.emptyReceipt(t, why)
		r.Degraded = []string{why}
		return earlier, &turnDecision{receipt: r}
	}
	if l.overdue.Load() >= maxOverdue {
		return late("turn: the turns before it are not done yet")
	}
	type blocks struct {
		earlier []placedBlock
		own     *turnDecision
	}
	var stage atomic.Pointer[string]
	whole := l.cfg.Retrieval.Deadline + turnSlack
	found, ok := runWithin(ctx, l, max(whole-time.Since(start), 0), func(ctx context.Context) (b blocks) {
		lost := l.restoreBlocks(ctx, t, at.dialogue, up.firstSent, last)
		b.earlier = l.earlierBlocks(ctx, t, at.dialogue, up.firstSent, last, l.findBlock)
		b.own = l.compose(ctx, t, named, at, last, append(up.blocks[:len(up.blocks):len(up.blocks)], b.earlier...), start, &stage)
		if lost != nil {
			b.own = b.own.withDegraded("blocks: " + lost.Error())
		}
		return b
	})
	if ok {
		return found.earlier, found.own
	}
	where := "the store"
	if s := stage.Load(); s != nil {
		where = *s
	}
	return late(fmt.Sprintf("turn: not ready within %s, in %s", whole, where))
}

// hangError is the error of a store whose holder does not answer: what such a store doesn't find
// means nothing.
func hangError(p store.Projections) error {
	if h, ok := p.(interface{ Hangs() error }); ok {
		return h.Hangs()
	}
	return nil
}

// silent says why a turn, whose user message is the last at that index, gets nothing;
// "" when it gets something.
func skipReason(t *ken.Turn, c *config.Config, last int) string {
	switch {
	case !c.Middleware.Knowledge:
		return "switched off: middleware.knowledge is false"
	case t.Weight == ken.WeightNone && t.Policy != "":
		return t.Policy + " gives this call no knowledge"
	case t.Weight == ken.WeightNone:
		return "the agent's weight is none"
	case last < 0:
		return "there is no user message"
	}
	return ""
}

// insertions are the blocks that are upstream, as if they were sent.
func (l *Layer) insertions(model string, blocks []placedBlock) (out []Insertion) {
	for _, p := range blocks {
		if p.text != "" {
			out = append(out, l.insertion(model, p.index, p.turnDecision))
		}
	}
	return out
}

func (l *Layer) insertion(model string, before int, c *turnDecision) Insertion {
	return Insertion{Before: before, Text: c.text, Merge: l.merges(model)}
}

// earlierBlocks finds the blocks that the conversation carried before this turn, among
// the messages from one to another.
func (l *Layer) earlierBlocks(ctx context.Context, t *ken.Turn, at []fingerprint, from, to int, recall func(context.Context, *ken.Turn, fingerprint) *turnDecision) []placedBlock {
	if !l.cfg.Injection.Sticky {
		return nil
	}
	var out []placedBlock
	for i := from; i < to; i++ {
		if t.Messages[i].Role != "user" {
			continue
		}
		if c := recall(ctx, t, at[i]); c != nil && c.text != "" {
			out = append(out, placedBlock{i, c})
		}
	}
	return out
}

// upstreamDecision is what a turn got whose user message, and block, are upstream.
func (l *Layer) upstreamDecision(t *ken.Turn, named bool, c *turnDecision) *turnDecision {
	if c == nil {
		return &turnDecision{receipt: l.emptyReceipt(t, "what is asked is upstream, and its knowledge with it")}
	}
	return l.reusedDecision(t, named, c)
}

// withDegraded is a copy that says what went wrong.
func (c *turnDecision) withDegraded(why string) *turnDecision {
	out := *c
	out.receipt.Degraded = append(out.receipt.Degraded[:len(out.receipt.Degraded):len(out.receipt.Degraded)], why)
	return &out
}

// reusedDecision is what an earlier request of the turn got.
func (l *Layer) reusedDecision(t *ken.Turn, named bool, c *turnDecision) *turnDecision {
	again := *c
	again.receipt.Reused, again.receipt.At, again.receipt.Policy = true, l.now().UTC(), t.Policy
	if named || c.incognito != t.Incognito { // the receipt of one must not be kept as the other's
		again.receipt.Turn = t.ID
	}
	return &again
}

// findBlock returns what was composed at a place, unless a claim in it was forgotten
// since: then the block goes too, whatever the prompt cache loses.
func (l *Layer) findBlock(ctx context.Context, t *ken.Turn, at fingerprint) *turnDecision {
	c := l.cachedBlock(t.Session, at)
	if c == nil || l.anyForgotten(ctx, t.Owner, c.ownClaims) {
		return nil
	}
	for owner, ids := range c.shared {
		if l.anyForgotten(ctx, owner, ids) {
			return nil
		}
	}
	return c
}

// anyForgotten reports that one of an owner's claims was forgotten. Nothing can be forgotten where
// nothing can be opened.
func (l *Layer) anyForgotten(ctx context.Context, owner string, ids []string) bool {
	if len(ids) == 0 {
		return false
	}
	p, release, err := l.openProjections(ctx, owner)
	if err != nil {
		return false
	}
	defer release()
	return !store.HasAll(p, ids) && ctx.Err() == nil && hangError(p) == nil // else nobody said so
}

// reusableBlock returns the block that an earlier request of the turn got, nil where a new one is
// to be composed. A request that ends with the user message opens a turn: in a
// conversation without a session, the same opening may belong to another conversation,
// and otherwise the block stands for a retry alone.
func (l *Layer) reusableBlock(ctx context.Context, t *ken.Turn, at *fingerprints, last int) *turnDecision {
	opens := last == len(t.Messages)-1
	if !l.cfg.Injection.Sticky || opens && t.Session == "" {
		return nil
	}
	if c := l.findBlock(ctx, t, at.dialogue[last]); c != nil && (!opens || c.isReusable(l.now())) {
		return c
	}
	return nil
}

// compose returns the turn's block: the one that stands, or a new one.
// named says that the caller gave the turn its id; at are the fingerprints of its
// messages, the last of the user's at index last.
func (l *Layer) compose(ctx context.Context, t *ken.Turn, named bool, at *fingerprints, last int, earlier []placedBlock, start time.Time, stage *atomic.Pointer[string]) *turnDecision {
	if c := l.reusableBlock(ctx, t, at, last); c != nil {
		return l.reusedDecision(t, named, c)
	}
	key := place{t.Session, at.dialogue[last]}
	if !l.beginComposing() {
		return l.busyDecision(t)
	}
	defer l.endComposing()
	stale := l.blocks.get(key)
	read := *t // from here on nobody sees a secret
	read.Messages = l.cleanCache.clean(at.full, t.Messages)
	c := l.runStages(ctx, &read, historyOf(earlier), stage)
	c.receipt.MS = withEntry(c.receipt.MS, "assemble", since(start))
	if !l.cfg.Injection.Sticky || ctx.Err() != nil { // what was cut short is not sent, and must not stick
		return c
	}
	c.storedAt = key
	return l.blocks.put(key, c, stale)
}

// beginComposing counts in a turn that is composed, false for one too many: hundreds that come
// together would each wait for all the others. Who enters leaves.
func (l *Layer) beginComposing() bool {
	if l.composing.Add(1) <= int64(l.cfg.Retrieval.AtOnce) {
		return true
	}
	l.endComposing()
	return false
}

func (l *Layer) endComposing() { l.composing.Add(-1) }

// causeBusy is the receipt's cause for a turn beyond retrieval.at_once.
const causeBusy = "turn: too many are composed at once (retrieval.at_once)"

// busyDecision returns the empty result of a turn beyond retrieval.at_once.
func (l *Layer) busyDecision(t *ken.Turn) *turnDecision {
	r := l.emptyReceipt(t, causeBusy)
	r.Degraded = []string{causeBusy}
	return &turnDecision{receipt: r}
}

// run sends the turn, whose messages are clean, through the chain.
func (l *Layer) runStages(ctx context.Context, t *ken.Turn, by injectionHistory, stage *atomic.Pointer[string]) *turnDecision {
	r := l.emptyReceipt(t, "")
	st := &State{current: stage, Turn: *t, Read: t.Messages, Receipt: &r, late: l.takeLate(t), history: by}
	l.runHandler(ctx, st, l.handler)
	l.keepLate(t, st.Found.Late)
	r.Signals = cloneSignals(r.Signals)
	c := &turnDecision{text: st.Block.Text, itemHashes: make(map[string]uint64, len(r.Items)), receipt: r, lastEvent: st.lastEvent, incognito: t.Incognito,
		retrievedCount: st.Found.Retrieved - st.Found.Sessions + len(st.code.cards) + len(st.code.decisions), memoryCount: st.Found.Memory}
	for _, it := range r.Items {
		c.itemHashes[it.ID] = hashOf(it.Text)
		// Files change; their old text in a conversation does no harm. What is made for the
		// turn is no record that could be forgotten.
		if it.Kind != ken.KindDocument && !budgeter.Made(it.Kind) && !isFileDecision(&it) {
			c.addForgettable(it.Owner, it.ID)
		}
	}
	return c
}

// runHandler has a handler work on a turn, with its owner's store open. What goes wrong is in
// the receipt.
func (l *Layer) runHandler(ctx context.Context, st *State, h Handler) {
	r := st.Receipt
	p, release, err := l.openProjections(ctx, st.Turn.Owner)
	if err != nil {
		st.degrade("store", err)
	} else {
		defer release()
		defer st.release()
		st.proj = p
		if s, ok := p.(store.Engine); ok && st.dryRun == nil && l.cfg.Injection.Sticky {
			st.lastEvent = s.Seq()
		}
		err := protect(ctx, st, h)
		st.Receipt = r // whatever a middleware made of it
		if err != nil {
			st.degrade("middleware", err)
		}
	}
	r.Block, r.Chars, r.Tokens = st.Block.Text, st.Block.Chars, st.Block.Tokens
}

// cloneSignals are signals that share no memory with the messages that they were read
// from: a receipt is remembered for long, and would keep whole requests with it.
func cloneSignals(s ken.Signals) ken.Signals {
	s.Question, s.Subject = strings.Clone(s.Question), strings.Clone(s.Subject)
	for _, words := range []*[]string{&s.Keywords, &s.Symbols, &s.Failures, &s.Entities} {
		*words = slices.Clone(*words)
		for i, w := range *words {
			(*words)[i] = strings.Clone(w)
		}
	}
	return s
}

// emptyReceipt is the receipt of a turn that gets no block, for the reason given.
func (l *Layer) emptyReceipt(t *ken.Turn, cause string) ken.Receipt {
	return ken.Receipt{Turn: t.ID, At: l.now().UTC(), Owner: t.Owner, Session: t.Session, Mode: ken.ModeNone, Policy: t.Policy, Cause: cause,
		Signals: ken.Signals{Keywords: []string{}, Symbols: []string{}, Failures: []string{}, Entities: []string{}},
		Items:   []ken.Item{}, Cut: []ken.Cut{}, MS: map[string]float64{}}
}

// withEntry returns a copy of m with one more entry: a receipt that others hold must
// not change.
func withEntry(m map[string]float64, key string, v float64) map[string]float64 {
	out := make(map[string]float64, len(m)+1)
	for k, x := range m {
		out[k] = x
	}
	out[key] = v
	return out
}

// takeLate returns what the session's last turn was still waiting for.
func (l *Layer) takeLate(t *ken.Turn) <-chan store.Result {
	if t.Session == "" || t.Incognito {
		return nil
	}
	return l.lateResults.take(t.Owner + "\x00" + t.Session)
}

func (l *Layer) keepLate(t *ken.Turn, ch <-chan store.Result) {
	if ch != nil && t.Session != "" && !t.Incognito { // what it asked for is no other turn's business
		l.lateResults.keep(t.Owner+"\x00"+t.Session, ch)
	}
}
