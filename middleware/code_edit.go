package middleware

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/harvest/finding"
)

const (
	// editWait is how long a turn waits for files that have changed to be read.
	editWait = 100 * time.Millisecond
	// editWindow is how many of a conversation's last messages tool calls are looked for in.
	editWindow = 256
	// maxHandled bounds what is remembered of tool calls that were looked at.
	maxHandled = 1 << 14
	// restFactor is how many times longer than it took nobody looks at all files again.
	restFactor = 20
)

// codeRefresh reads files that have changed behind the turns' backs, one batch at a time, so
// that a turn may stop waiting. Its methods are safe for concurrent use.
type codeRefresh struct {
	read func(ctx context.Context, paths []string) // none are all
	now  func() time.Time

	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu      sync.Mutex // guards the rest
	waiting map[string]bool
	all     bool
	next    chan struct{} // closed when what waits was read
	running bool
	closed  bool
	rest    time.Time // before which nobody looks at all files again

	seed    maphash.Seed
	handled [2]map[uint64]bool // tool calls, the newer half first
}

func newRenewal(read func(context.Context, []string), now func() time.Time) *codeRefresh {
	r := &codeRefresh{read: read, now: now, waiting: map[string]bool{}, seed: maphash.MakeSeed()}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// ask has files read, and returns what is closed once they were, or could not be. No
// paths stand for all files; nobody looks at them again before long, and nil says so.
func (r *codeRefresh) ask(paths ...string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := make(chan struct{})
	if r.closed {
		close(done)
		return done
	}
	if len(paths) == 0 {
		if r.all || r.now().Before(r.rest) {
			return nil
		}
		r.all = true
	}
	for _, p := range paths {
		r.waiting[p] = true
	}
	if r.next == nil {
		r.next = done
	}
	done = r.next
	if !r.running {
		r.running = true
		r.work.Go(r.run)
	}
	return done
}

// run reads what waits until nothing does.
func (r *codeRefresh) run() {
	for {
		r.mu.Lock()
		paths, all, done := make([]string, 0, len(r.waiting)), r.all, r.next
		for p := range r.waiting {
			paths = append(paths, p)
		}
		clear(r.waiting)
		r.all, r.next = false, nil
		if done == nil || r.closed {
			r.running = false
			r.mu.Unlock()
			if done != nil {
				close(done)
			}
			return
		}
		r.mu.Unlock()
		_ = caught.Run(func() error { r.batch(paths, all); return nil }) // the next edit is read again
		close(done)
	}
}

func (r *codeRefresh) batch(paths []string, all bool) {
	if len(paths) > 0 {
		r.read(r.ctx, paths)
	}
	if !all {
		return
	}
	start := r.now()
	r.read(r.ctx, nil)
	r.rested(start)
}

// rested notes that all files were looked at, from then to now.
func (r *codeRefresh) rested(start time.Time) {
	end := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rest = end.Add(restFactor * end.Sub(start))
}

// close stops what is under way and waits for it. What is asked for afterwards is not
// read.
func (r *codeRefresh) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop()
	r.work.Wait()
}

// fresh reports whether a tool call of a conversation was not looked at before.
func (r *codeRefresh) fresh(conversation string, c *ken.ToolCall, result *ken.Message) bool {
	var h maphash.Hash
	h.SetSeed(r.seed)
	for _, s := range []string{conversation, c.ID, c.Name, c.Arguments, result.Text} {
		_, _ = h.WriteString(s)
		_ = h.WriteByte(0)
	}
	key := h.Sum64()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.handled[0][key] || r.handled[1][key] {
		return false
	}
	if r.handled[0] == nil || len(r.handled[0]) >= maxHandled {
		r.handled[0], r.handled[1] = map[uint64]bool{}, r.handled[0]
	}
	r.handled[0][key] = true
	return true
}

// touched are the files that the tool calls of a turn's conversation were to change, each
// call looked at once. In a conversation without a session it is each time: it may be
// another one that began alike.
func (l *Layer) touched(t *ken.Turn) []string {
	msgs := t.Messages[max(0, len(t.Messages)-editWindow):]
	fresh := func(c *ken.ToolCall, result *ken.Message) bool {
		return l.code.renewal.fresh(t.Owner+"\x00"+t.Session, c, result)
	}
	if t.Session == "" {
		fresh = nil
	}
	return finding.Touched(l.o.Root, msgs, l.tools, fresh)
}
