package facet

import (
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
	"github.com/kenlayer/ken/internal/topk"
	"github.com/kenlayer/ken/store"
)

// DefaultOwners is how many owners' columns are kept when nothing is said.
const DefaultOwners = 8

// Options configures an index; the zero value works.
type Options struct {
	Now       func() time.Time // default time.Now
	DecayDays int              // after which a Verified claim without new evidence is Inferred; 0 and less: never
	Top       int              // values listed of a facet; 0 and less is 12
	MaxOwners int              // whose columns are kept, those used last; 0 and less is 8

	// Open opens an owner's store for work in the background, which lasts longer than
	// the call of Catch that began it, and release gives it back. Nil: the store that
	// Catch was given serves, and must stay open.
	Open func(ctx context.Context, owner string) (s store.Engine, release func(), err error)

	// Log hears of work in the background that failed. Default: nothing is logged.
	Log *slog.Logger
}

// Store is what an index reads of an owner's store. Every store.Engine is one.
type Store interface {
	Owner() string
	Seq() uint64
	Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error]
	Claims(ctx context.Context) iter.Seq2[ken.Claim, error]
	Get(ctx context.Context, id string) (ken.Claim, error)
}

// Index keeps what can be counted of the claims of some owners. One serves all; it is
// safe for concurrent use. It must be closed.
type Index struct {
	o    Options
	ctx  context.Context // of work in the background
	stop context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex // guards what follows
	owners map[string]*owner
	clock  uint64 // counts uses
	closed bool
}

// New returns an index that has read nothing.
func New(o Options) *Index {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Top <= 0 {
		o.Top = DefaultTop
	}
	if o.MaxOwners <= 0 {
		o.MaxOwners = DefaultOwners
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	x := &Index{o: o, owners: map[string]*owner{}}
	x.ctx, x.stop = context.WithCancel(context.Background())
	return x
}

// Close ends the work in the background, waits for it, and gives the columns up. It
// may be called again.
func (x *Index) Close() {
	x.mu.Lock()
	x.closed = true
	x.owners = map[string]*owner{}
	x.mu.Unlock()
	x.stop()
	x.work.Wait()
}

var errClosed = &ken.Error{Code: ken.CodeUnavailable, Msg: "the index of claims is closed", Try: "Try again when the server is up."}

// owner returns whose columns they are, in place of those that were used least lately
// if there is no room.
func (x *Index) owner(name string) (*owner, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, errClosed
	}
	o := x.owners[name]
	if o == nil {
		if len(x.owners) >= x.o.MaxOwners {
			oldest := ""
			for n, other := range x.owners {
				if oldest == "" || other.used < x.owners[oldest].used {
					oldest = n
				}
			}
			x.owners[oldest].stop()
			delete(x.owners, oldest)
		}
		o = &owner{name: name, turn: make(chan struct{}, 1)}
		o.ctx, o.stop = context.WithCancel(x.ctx)
		x.owners[name] = o
	}
	x.clock++
	o.used = x.clock
	return o, nil
}

// read runs fn over an owner's columns.
func (x *Index) read(name string, fn func(*table)) error {
	x.mu.Lock()
	o := x.owners[name]
	if o != nil {
		x.clock++
		o.used = x.clock
	}
	x.mu.Unlock()
	if o != nil {
		o.mu.RLock()
		defer o.mu.RUnlock()
		if o.t != nil {
			fn(o.t)
			return nil
		}
	}
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "the claims are still being read", Try: "Try again in a moment."}
}

// Values lists what claims have of a facet, the most frequent value first, for
// choosing one of many: those that begin with prefix, whole or at one of their parts,
// such as the name of a file at the end of its path. Case does not matter. The counts
// are of all claims that are not structural. A limit of 0 and less is 50, and 500 is
// the most. Errors: ErrInvalid for a facet that is none; ErrUnavailable for an owner
// whose claims were not read yet.
func (x *Index) Values(owner, facet, prefix string, limit int) (out []Value, err error) {
	f := slices.Index(names[:], facet)
	if f < 0 {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "facet", Msg: "unknown facet " + strconv.Quote(facet),
			Try: "Use one of " + strings.Join(names[:], ", ") + "."}
	}
	if limit <= 0 {
		limit = DefaultLimit
	}
	err = x.read(owner, func(t *table) {
		s := x.run(t, &Selection{}, nil)
		defer s.letGo()
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

// startsFold is strings.HasPrefix, whatever the case.
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
