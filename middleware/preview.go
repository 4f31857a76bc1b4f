package middleware

import (
	"context"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/middleware/wire"
)

// Preview returns body with the blocks that a model call with the same messages would
// carry, for a request that only counts tokens: see wire.CountOf. d, body and who are as
// in Begin, and so is the error.
//
// Blocks that the conversation has stand as they were sent. A turn that is new is
// composed as Trial does it: it leaves no trace, and the model call that follows composes
// its own, which is the same unless something was learned meanwhile. Where that takes
// longer than a turn may, the new block is left out.
func (l *Layer) Preview(ctx context.Context, d wire.Dialect, body []byte, who func(*wire.Request) ken.Turn) ([]byte, error) {
	start := time.Now()
	r, err := wire.Parse(d, body)
	if err != nil {
		return nil, err
	}
	t := l.turnOf(&r, who)
	up := l.upstream(ctx, &t, &r, start)
	l.peekSession(ctx, &t, start)
	var ins []wire.Insertion
	for _, in := range l.previewed(ctx, &t, &up) {
		in.Before -= up.skipped
		ins = append(ins, wire.Insertion(in))
	}
	if len(ins) == 0 {
		return body, nil
	}
	out, err := wire.Splice(body, r, ins)
	if err != nil { // a fault of ours
		l.o.Log.Error("the request is counted without knowledge", "cause", err)
		return body, nil
	}
	return out, nil
}

// previewed are the insertions of a turn, by rising Before.
func (l *Layer) previewed(ctx context.Context, t *ken.Turn, up *upstream) []Insertion {
	l.turning.begin()
	defer l.turning.end()
	l.complete(t)
	last := lastUser(t.Messages)
	if silent(t, &l.cfg, last) != "" || last < up.until || !l.cfg.Middleware.Inject {
		return nil
	}
	at := fingerprintsOf(t)
	if l.overdue.Load() < maxOverdue {
		all, ok := bounded(ctx, l, l.cfg.Retrieval.Deadline+spare, func(ctx context.Context) []placed {
			_ = l.restoreBlocks(ctx, t, at.said, up.until, last) // what can't be read is not there for the call either
			earlier := l.earlier(ctx, t, at.said, up.until, last, l.recall)
			return append(earlier, placed{last, l.wouldCompose(ctx, t, &at, last, append(up.blocks[:len(up.blocks):len(up.blocks)], earlier...))})
		})
		if ok {
			return l.insertions(t.Model, all)
		}
	}
	return l.insertions(t.Model, l.earlier(ctx, t, at.said, up.until, last, l.inMemory))
}

// wouldCompose is compose without a trace.
func (l *Layer) wouldCompose(ctx context.Context, t *ken.Turn, at *fingerprints, last int, earlier []placed) *composed {
	if c := l.blockThatStands(ctx, t, at, last); c != nil {
		return c
	}
	if !l.enter() {
		return &composed{}
	}
	defer l.leave()
	tr, err := l.newTrial(&l.cfg)
	if err != nil { // it was valid when the layer was opened
		return &composed{}
	}
	read := *t
	read.Messages = l.cleanings.messages(at.whole, t.Messages)
	r := l.blank(t, "")
	st := &State{Turn: read, Read: read.Messages, Receipt: &r, trial: tr, past: pastOf(earlier)}
	l.send(ctx, st, tr.handler)
	return &composed{text: st.Block.Text}
}
