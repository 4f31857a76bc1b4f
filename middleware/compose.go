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
	"github.com/kenlayer/ken/store"
)

// Limits of turns that take long.
const (
	// turnSlack is the time for the stages before and after retrieval. It is added to
	// retrieval.deadline, which limits the retrieval sources. When both have passed, the request
	// continues without a new block.
	turnSlack = 50 * time.Millisecond
	// maxOverdue is the maximum number of turns that still compose a block after their deadline.
	maxOverdue = 64
)

// composeWithinDeadline finds the blocks of earlier turns and composes this turn's block. If the
// deadline passes first, the conversation keeps the blocks that are in memory, byte for byte, and
// the receipt names the stage that was late.
func (l *Layer) composeWithinDeadline(ctx context.Context, c *modelCall) ([]placedBlock, *turnDecision) {
	if l.overdue.Load() >= maxOverdue {
		return l.blocksInMemory(ctx, c, "turn: too many earlier turns are not composed yet")
	}
	type blocks struct {
		earlier []placedBlock
		own     *turnDecision
	}
	var at progress
	limit := l.cfg.Retrieval.Deadline + l.slack + l.cfg.RerankTimeout()
	found, ok := runWithin(ctx, l, max(limit-time.Since(c.start), 0), func(ctx context.Context) (b blocks) {
		err := l.restoreBlocks(ctx, c)
		b.earlier = l.earlierBlocks(ctx, c, l.findBlock)
		b.own = l.compose(ctx, c, slices.Concat(c.up.blocks, b.earlier), &at)
		if err != nil {
			b.own = b.own.withDegraded("blocks: " + err.Error())
		}
		return b
	})
	if ok {
		return found.earlier, found.own
	}
	return l.lateDecision(ctx, c, limit, &at)
}

// lateDecision returns the blocks of a turn that was not ready within the limit.
func (l *Layer) lateDecision(ctx context.Context, c *modelCall, limit time.Duration, at *progress) ([]placedBlock, *turnDecision) {
	late := "the store"
	if s := at.stage.Load(); s != nil {
		late = *s
	}
	earlier, own := l.blocksInMemory(ctx, c, fmt.Sprintf("turn: not ready within %s, in %s", limit, late))
	if !own.receipt.Reused {
		own.receipt.OverflowedConstraints = int(at.rules.Load())
	}
	return earlier, own
}

// progress is how far the stages of a turn are.
type progress struct {
	stage atomic.Pointer[string] // the name of the running stage; nil before
	rules atomic.Int64           // number of rules that apply, as far as they were looked for
}

// blocksInMemory returns the blocks that are found without the store, for a turn whose block can't
// be composed. why is the reason.
func (l *Layer) blocksInMemory(ctx context.Context, c *modelCall, why string) ([]placedBlock, *turnDecision) {
	t := c.turn
	earlier := l.earlierBlocks(ctx, c, l.findBlockInMemory)
	if d := l.cachedBlock(t.Session, c.at.dialogue[c.last]); d != nil && l.cfg.Injection.Sticky && (t.Session != "" || c.last < len(t.Messages)-1) {
		return earlier, l.reusedDecision(c, d)
	}
	return earlier, l.failedDecision(t, why)
}

// earlierBlocks returns the blocks of the earlier turns among the messages that the request
// carries. find looks up one of them.
func (l *Layer) earlierBlocks(ctx context.Context, c *modelCall, find func(context.Context, *ken.Turn, fingerprint) *turnDecision) (out []placedBlock) {
	if !l.cfg.Injection.Sticky {
		return nil
	}
	for i := c.up.firstSent; i < c.last; i++ {
		if c.turn.Messages[i].Role != "user" {
			continue
		}
		if d := find(ctx, c.turn, c.at.dialogue[i]); d != nil && d.text != "" {
			out = append(out, placedBlock{i, d})
		}
	}
	return out
}

// findBlock returns the block that was composed at a place. It does not return a block with a claim
// that was forgotten since, although this invalidates the provider's prompt cache.
func (l *Layer) findBlock(ctx context.Context, t *ken.Turn, at fingerprint) *turnDecision {
	d := l.cachedBlock(t.Session, at)
	if d == nil || l.anyForgotten(ctx, t.Owner, d.ownClaims) {
		return nil
	}
	for owner, ids := range d.shared {
		if l.anyForgotten(ctx, owner, ids) {
			return nil
		}
	}
	return d
}

// anyForgotten reports whether one of an owner's claims was forgotten. It returns false if the
// store can't be opened, because then no claim can have been forgotten through it.
func (l *Layer) anyForgotten(ctx context.Context, owner string, ids []string) bool {
	if len(ids) == 0 {
		return false
	}
	p, release, err := l.openProjections(ctx, owner)
	if err != nil {
		return false
	}
	defer release()
	return !store.HasAll(p, ids) && ctx.Err() == nil && hangError(p) == nil // a hanging store finds nothing, although the claims may exist
}

// hangError returns an error if the holder of the store does not answer. Records that such a store
// does not find may still exist.
func hangError(p store.Projections) error {
	if h, ok := p.(interface{ Hangs() error }); ok {
		return h.Hangs()
	}
	return nil
}

// compose returns the turn's block: the block of an earlier request of the turn, or a new one from
// the stages. earlier are the blocks that the conversation holds already.
func (l *Layer) compose(ctx context.Context, c *modelCall, earlier []placedBlock, at *progress) *turnDecision {
	if d := l.reusableBlock(ctx, c); d != nil {
		return l.reusedDecision(c, d)
	}
	if !l.beginComposing() {
		return l.failedDecision(c.turn, causeBusy)
	}
	defer l.endComposing()
	key := place{c.turn.Session, c.at.dialogue[c.last]}
	stale := l.blocks.get(key)
	read := *c.turn
	read.Messages = l.cleanCache.clean(c.at.full, c.turn.Messages) // stages see no secrets
	d := l.runStages(ctx, &read, historyOf(earlier), at)
	d.receipt.MS = withEntry(d.receipt.MS, "assemble", since(c.start))
	if !l.cfg.Injection.Sticky || ctx.Err() != nil { // a block that was cut short is not sent, so it is not cached either
		return d
	}
	d.storedAt = key
	return l.blocks.put(key, d, stale)
}

// reusableBlock returns the block of an earlier request of the turn; nil if a new one must be
// composed. A request that ends with the user's message begins a turn. It reuses a block only if it
// is a retry, and only in a session, because another conversation may begin with the same words.
func (l *Layer) reusableBlock(ctx context.Context, c *modelCall) *turnDecision {
	begins := c.last == len(c.turn.Messages)-1
	if !l.cfg.Injection.Sticky || begins && c.turn.Session == "" {
		return nil
	}
	if d := l.findBlock(ctx, c.turn, c.at.dialogue[c.last]); d != nil && (!begins || d.isReusable(l.now())) {
		return d
	}
	return nil
}

// upstreamDecision returns the decision for a turn whose user message and block d the provider
// already holds. d is nil if the block is not known.
func (l *Layer) upstreamDecision(c *modelCall, d *turnDecision) *turnDecision {
	if d == nil {
		return &turnDecision{receipt: l.emptyReceipt(c.turn, "the provider holds the question and its block already")}
	}
	return l.reusedDecision(c, d)
}

// reusedDecision returns a copy of the decision for an earlier request, adapted to this request.
func (l *Layer) reusedDecision(c *modelCall, d *turnDecision) *turnDecision {
	out := *d
	out.receipt.Reused, out.receipt.At, out.receipt.Policy = true, l.now().UTC(), c.turn.Policy
	if c.named || d.incognito != c.turn.Incognito { // an incognito receipt must not be stored under another turn's id, and no other under its id
		out.receipt.Turn = c.turn.ID
	}
	return &out
}

// failedDecision returns the decision for a turn whose block could not be composed.
func (l *Layer) failedDecision(t *ken.Turn, why string) *turnDecision {
	r := l.emptyReceipt(t, why)
	r.Degraded = []string{why}
	return &turnDecision{receipt: r}
}

// withDegraded returns a copy of the decision with one more failure in the receipt.
func (d *turnDecision) withDegraded(why string) *turnDecision {
	out := *d
	out.receipt.Degraded = append(slices.Clip(out.receipt.Degraded), why)
	return &out
}

// causeBusy is the receipt's cause if retrieval.at_once turns are composed already.
const causeBusy = "turn: too many are composed at once (retrieval.at_once)"

// beginComposing reports whether another block may be composed now. If hundreds of turns were
// composed at once, each would wait for all others. If it returns true, the caller must call
// endComposing.
func (l *Layer) beginComposing() bool {
	if l.composing.Add(1) <= int64(l.cfg.Retrieval.AtOnce) {
		return true
	}
	l.endComposing()
	return false
}

func (l *Layer) endComposing() { l.composing.Add(-1) }

// runStages passes a turn with clean messages through the chain of stages.
func (l *Layer) runStages(ctx context.Context, t *ken.Turn, history injectionHistory, at *progress) *turnDecision {
	r := l.emptyReceipt(t, "")
	st := &State{at: at, Turn: *t, Read: t.Messages, Receipt: &r, late: l.takeLate(t), history: history}
	l.runHandler(ctx, st, l.handler)
	l.keepLate(t, st.Found.Late)
	r.Signals = cloneSignals(r.Signals)
	d := &turnDecision{text: st.Block.Text, itemHashes: make(map[string]uint64, len(r.Items)), receipt: r, lastEvent: st.lastEvent, incognito: t.Incognito,
		retrievedCount: st.Found.Retrieved - st.Found.Sessions + len(st.code.cards) + len(st.code.decisions), memoryCount: st.Found.Memory}
	for _, it := range r.Items {
		d.itemHashes[it.ID] = hashOf(it.Text)
		// Old text of a changed file does no harm, and items made for the turn are not stored. So
		// neither kind can be forgotten.
		if it.Kind != ken.KindDocument && !budgeter.Made(it.Kind) && !isFileDecision(&it) {
			d.addForgettable(it.Owner, it.ID)
		}
	}
	return d
}

// runHandler runs a handler on a turn while the owner's store is open. It records failures in the
// receipt.
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
		st.Receipt = r // a middleware may have replaced it
		if err != nil {
			st.degrade("middleware", err)
		}
	}
	r.Block, r.Chars, r.Tokens = st.Block.Text, st.Block.Chars, st.Block.Tokens
}

// cloneSignals returns signals that share no memory with the messages they were read from. Receipts
// live long, and would otherwise keep whole requests in memory.
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

// growStack grows the stack of the calling goroutine to the size that a turn needs. Growing it in
// steps, with a copy at each, takes 5 % of a turn's time.
//
//go:noinline
func growStack() {
	var room [40 << 10]byte
	runtime.KeepAlive(&room)
}

// runWithin runs do in its own goroutine and returns the result if do ends within the limit. The
// context of do ends at the limit. A store call that hangs can't be stopped; then do counts as
// overdue until it returns, and its result is dropped. If do panics, runWithin panics.
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
	case <-timer.C: // not when ctx ends: the stages handle that, and still return the rules
	}
	if over.CompareAndSwap(false, true) {
		l.overdue.Add(1)
	}
	return out, false
}

// takeLate returns the channel of the vector search that the session's last turn did not wait for;
// nil if there is none.
func (l *Layer) takeLate(t *ken.Turn) <-chan store.Result {
	if t.Session == "" || t.Incognito {
		return nil
	}
	late, _ := l.lateResults.Take(keyOf(t))
	return late
}

func (l *Layer) keepLate(t *ken.Turn, ch <-chan store.Result) {
	if ch != nil && t.Session != "" && !t.Incognito { // other turns must not see the hits of an incognito turn
		l.lateResults.Put(keyOf(t), ch)
	}
}
