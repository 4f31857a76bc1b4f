package facet

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lru"
	"github.com/kenlayer/ken/internal/topk"
	"github.com/kenlayer/ken/store"
)

// DefaultOwners is the default of Options.MaxOwners.
const DefaultOwners = 8

// Options configures an index; the zero value works.
type Options struct {
	Now       func() time.Time // default time.Now
	DecayDays int              // days after which a Verified claim without new evidence is Inferred; 0 or less means never
	Top       int              // number of values listed of a facet; 0 or less means 12
	MaxOwners int              // number of owners whose columns are kept, most recently used first; 0 or less means 8

	// Open opens an owner's store for background work that outlasts the call of Catch
	// that started it; the caller calls release when it is done. If nil, the store
	// given to Catch is used and must stay open.
	Open func(ctx context.Context, owner string) (s store.Engine, release func(), err error)

	// Log receives errors of background work. Default: nothing is logged.
	Log *slog.Logger
}

// Store is the part of an owner's store that an index reads. Every store.Engine
// implements it.
type Store interface {
	Owner() string
	Seq() uint64
	Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error]
	Claims(ctx context.Context) iter.Seq2[ken.Claim, error]
	Get(ctx context.Context, id string) (ken.Claim, error)
}

// Index holds the columns of some owners' claims. It is safe for concurrent use. The
// caller closes it.
type Index struct {
	o    Options
	ctx  context.Context // of background work
	stop context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	owners lru.List[string, *owner]
	closed bool
}

// New returns an empty index.
func New(o Options) *Index {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Top = cmp.Or(max(o.Top, 0), DefaultTop)
	o.MaxOwners = cmp.Or(max(o.MaxOwners, 0), DefaultOwners)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	x := &Index{o: o}
	x.ctx, x.stop = context.WithCancel(context.Background())
	return x
}

// Close stops the background work, waits for it, and drops the columns. It may be
// called again.
func (x *Index) Close() {
	x.mu.Lock()
	x.closed = true
	x.owners = lru.List[string, *owner]{}
	x.mu.Unlock()
	x.stop()
	x.work.Wait()
}

var errClosed = &ken.Error{Code: ken.CodeUnavailable, Msg: "the index of claims is closed", Try: "Try again when the server is up."}

// owner returns the columns of an owner. If there is no room, it replaces the least
// recently used ones.
func (x *Index) owner(name string) (*owner, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, errClosed
	}
	o, ok := x.owners.Get(name)
	if !ok {
		if x.owners.Len() >= x.o.MaxOwners {
			_, oldest := x.owners.TakeOldest()
			oldest.stop()
		}
		o = &owner{name: name, turn: make(chan struct{}, 1)}
		o.ctx, o.stop = context.WithCancel(x.ctx)
		x.owners.Put(name, o)
	}
	return o, nil
}

// read calls fn with an owner's columns.
func (x *Index) read(name string, fn func(*table)) error {
	x.mu.Lock()
	o, ok := x.owners.Get(name)
	x.mu.Unlock()
	if ok {
		o.mu.RLock()
		defer o.mu.RUnlock()
		if o.t != nil {
			fn(o.t)
			return nil
		}
	}
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "the claims are still being read", Try: "Try again in a moment."}
}

// Values lists the values of a facet, most frequent first, for choosing one of many.
// It lists values that begin with prefix, or that have a part which does, such as the
// file name at the end of a path; case is ignored. The counts include all claims that
// are not structural. A limit of 0 or less means 50; the maximum is 500. Errors:
// ErrInvalid for an unknown facet; ErrUnavailable for an owner whose claims were not
// read yet.
func (x *Index) Values(owner, facet, prefix string, limit int) (out []Value, err error) {
	f := slices.Index(names[:], facet)
	if f < 0 {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "facet", Msg: "unknown facet " + strconv.Quote(facet),
			Try: "Use one of " + strings.Join(names[:], ", ") + "."}
	}
	limit = cmp.Or(max(limit, 0), DefaultLimit)
	err = x.read(owner, func(t *table) {
		s := x.run(t, &Selection{}, nil)
		defer s.release()
		values, first := s.tally(f)
		best := topk.New[counted](min(limit, MaxLimit))
		for code := first; code < len(values); code++ {
			if n := s.count[code]; n > 0 && begins(values[code], prefix) {
				best.Offer(counted{values[code], uint32(code), n})
			}
		}
		for _, c := range best.Sorted() {
			out = append(out, Value{Value: c.name, Count: int(c.n)})
		}
	})
	return out, err
}

// begins reports whether a value or one of its parts begins with a prefix.
func begins(value, prefix string) bool {
	for at, start := 0, true; at < len(value); {
		r, n := utf8.DecodeRuneInString(value[at:])
		if start && startsFold(value[at:], prefix) {
			return true
		}
		start = strings.ContainsRune(" /:._-@#", r)
		at += n
	}
	return prefix == ""
}

// startsFold is strings.HasPrefix without regard to case.
func startsFold(s, prefix string) bool {
	for len(prefix) > 0 {
		a, n := utf8.DecodeRuneInString(s)
		b, m := utf8.DecodeRuneInString(prefix)
		if n == 0 || !strings.EqualFold(s[:n], prefix[:m]) || (a == utf8.RuneError) != (b == utf8.RuneError) {
			return false
		}
		s, prefix = s[n:], prefix[m:]
	}
	return true
}
