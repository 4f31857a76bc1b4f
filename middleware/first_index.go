package middleware

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/store"
)

// firstIndex follows the first index of the project's files, which runs in the background.
type firstIndex struct {
	over     chan struct{} // closed once the index has ended, or none was needed
	end      func()        // closes over
	progress atomic.Pointer[repository.Progress]
}

func newFirstIndex() *firstIndex {
	f := &firstIndex{over: make(chan struct{})}
	f.end = sync.OnceFunc(func() { close(f.over) })
	return f
}

// note stores the progress. An index that finds files indexed already is not the first one.
func (f *firstIndex) note(p repository.Progress) {
	if f.progress.Swap(&p) == nil && p.Done > 0 {
		f.end()
	}
}

// AwaitIndex waits for the first index of the project's files, for the given time at most. It returns
// what is still missing in a search of the store: "the repository is still being indexed, 64 of 464
// files"; "" if nothing is.
func (l operator) AwaitIndex(ctx context.Context, s store.Engine, most time.Duration) string {
	f := l.firstIndex
	select {
	case <-f.over:
		return ""
	default:
	}
	if l.RootOf(s.Owner()) == "" {
		return ""
	}
	if f.progress.Load() == nil {
		if docs, err := s.DocumentHashes(ctx); err != nil || len(docs) > 0 {
			f.end()
			return ""
		}
	}
	if l.owners.Holds(s.Owner()) { // otherwise another process indexes
		timer := time.NewTimer(most)
		defer timer.Stop()
		select {
		case <-f.over:
			return ""
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if p := f.progress.Load(); p != nil {
		return fmt.Sprintf("the repository is still being indexed, %d of %d %s", p.Done, p.Total, p.Stage)
	}
	return "nothing of the repository is indexed yet"
}
