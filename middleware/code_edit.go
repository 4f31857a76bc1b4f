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

// Bounds of reading files that have changed.
const (
	// editWait is how long a turn waits for files that have changed to be read.
	editWait = 100 * time.Millisecond
	// editWindow is how many of a conversation's last messages tool calls are looked for in.
	editWindow = 256
	// maxSeenCalls bounds the tool calls that are remembered.
	maxSeenCalls = 1 << 14
	// rescanFactor is how many times the duration of a full scan must pass before the next one.
	rescanFactor = 20
)

// codeRefresh reads changed files in the background, one batch at a time, so that a turn may
// stop waiting. Its methods are safe for concurrent use.
type codeRefresh struct {
	read func(ctx context.Context, paths []string) // no paths mean all files
	now  func() time.Time

	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu           sync.Mutex // guards the rest
	pending      map[string]bool
	allFiles     bool
	done         chan struct{} // closed when the pending files were read
	running      bool
	closed       bool
	nextFullScan time.Time // no full scan before this time

	seed      maphash.Seed
	seenCalls [2]map[uint64]bool // tool calls, the newer half first
}

func newCodeRefresh(read func(context.Context, []string), now func() time.Time) *codeRefresh {
	r := &codeRefresh{read: read, now: now, pending: map[string]bool{}, seed: maphash.MakeSeed()}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// request has files read, and returns a channel that is closed once they were, or could not be.
// No paths mean all files; it returns nil if a full scan is pending or not yet allowed.
func (r *codeRefresh) request(paths ...string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := make(chan struct{})
	if r.closed {
		close(done)
		return done
	}
	if len(paths) == 0 {
		if r.allFiles || r.now().Before(r.nextFullScan) {
			return nil
		}
		r.allFiles = true
	}
	for _, p := range paths {
		r.pending[p] = true
	}
	if r.done == nil {
		r.done = done
	}
	done = r.done
	if !r.running {
		r.running = true
		r.work.Go(r.run)
	}
	return done
}

// run reads pending files until there are none.
func (r *codeRefresh) run() {
	for {
		r.mu.Lock()
		paths, all, done := make([]string, 0, len(r.pending)), r.allFiles, r.done
		for p := range r.pending {
			paths = append(paths, p)
		}
		clear(r.pending)
		r.allFiles, r.done = false, nil
		if done == nil || r.closed {
			r.running = false
			r.mu.Unlock()
			if done != nil {
				close(done)
			}
			return
		}
		r.mu.Unlock()
		_ = caught.Run(func() error { r.readBatch(paths, all); return nil }) // the next edit is read again
		close(done)
	}
}

// readBatch reads the given files, and all files if all is set.
func (r *codeRefresh) readBatch(paths []string, all bool) {
	if len(paths) > 0 {
		r.read(r.ctx, paths)
	}
	if !all {
		return
	}
	start := r.now()
	r.read(r.ctx, nil)
	r.noteFullScan(start)
}

// noteFullScan notes that all files were examined between start and now.
func (r *codeRefresh) noteFullScan(start time.Time) {
	end := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nextFullScan = end.Add(rescanFactor * end.Sub(start))
}

// close stops reading and waits for it. Later requests are not read.
func (r *codeRefresh) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop()
	r.work.Wait()
}

// isNewCall reports whether a tool call of a conversation was not seen before.
func (r *codeRefresh) isNewCall(conversation string, c *ken.ToolCall, result *ken.Message) bool {
	var h maphash.Hash
	h.SetSeed(r.seed)
	for _, s := range []string{conversation, c.ID, c.Name, c.Arguments, result.Text} {
		_, _ = h.WriteString(s)
		_ = h.WriteByte(0)
	}
	key := h.Sum64()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seenCalls[0][key] || r.seenCalls[1][key] {
		return false
	}
	if r.seenCalls[0] == nil || len(r.seenCalls[0]) >= maxSeenCalls {
		r.seenCalls[0], r.seenCalls[1] = map[uint64]bool{}, r.seenCalls[0]
	}
	r.seenCalls[0][key] = true
	return true
}

// editedFiles returns the files that the tool calls of a turn's conversation were to change.
// Each call counts once, except in a conversation without a session, which may be another one
// that began alike.
func (l *Layer) editedFiles(t *ken.Turn) []string {
	msgs := t.Messages[max(0, len(t.Messages)-editWindow):]
	fresh := func(c *ken.ToolCall, result *ken.Message) bool {
		return l.code.refresh.isNewCall(t.Owner+"\x00"+t.Session, c, result)
	}
	if t.Session == "" {
		fresh = nil
	}
	return finding.Touched(l.o.Root, msgs, l.tools, fresh)
}
