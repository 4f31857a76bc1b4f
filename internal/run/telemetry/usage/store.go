package usage

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Options configures a Store; the zero value works.
type Options struct {
	Now func() time.Time // default time.Now
	Log *slog.Logger     // default slog.Default()
}

// Store counts usage. It is safe for concurrent use.
type Store struct {
	dir string // "" keeps nothing
	o   Options

	mu     sync.Mutex // guards what follows
	day    string
	ends   time.Time // when the day is over
	today  table
	past   []table // of days that ended and are still to be written
	spent  map[string]*spent
	total  table
	timer  *time.Timer // of the next write; nil when there is nothing to write
	closed bool

	writing sync.Mutex // guards what follows; it is taken before mu
	lock    *flock.Flock
	warned  bool
}

// spent is the usage of one key today, as its budget counts it.
type spent struct{ requests, tokens int64 }

// Bounds of what is told apart: rows a day, and rows since the process started.
const (
	maxRows   = 10_000
	maxTotals = 1_000
)

// delay is the time between a change and the write of it.
const delay = 5 * time.Second

// Open returns a store that keeps its files in dir, which it creates; with "" it keeps none.
// While another process keeps its figures in dir, the figures of this one stay in memory.
// Errors: ErrCorrupt for a file of today that can't be read, since to go on would overwrite
// it.
func Open(dir string, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Store{dir: dir, o: o, total: table{}}
	s.begin(o.Now())
	s.writing.Lock()
	defer s.writing.Unlock()
	if _, err := s.hold(); err != nil {
		return nil, err
	}
	return s, nil
}

// Budget names the budget that a key has used up.
type Budget string

// What a budget may be of.
const (
	Free     Budget = ""         // nothing was reached
	Requests Budget = "requests" // a day
	Tokens   Budget = "tokens"   // a day
)

// Spend counts a request of a key towards its budget of the day, unless it has none left.
// The limits are of a day; 0 is no limit. wait is how long until the next day begins.
// Tokens are known when an answer has ended, so requests under way may exceed their limit.
func (s *Store) Spend(key string, requests, tokens int) (reached Budget, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.turn()
	p := s.of(key)
	switch {
	case requests > 0 && p.requests >= int64(requests):
		reached = Requests
	case tokens > 0 && p.tokens >= int64(tokens):
		reached = Tokens
	default:
		p.requests++
		return Free, 0
	}
	return reached, s.ends.Sub(now)
}

// Spent returns what a key has used of its budgets today.
func (s *Store) Spent(key string) (requests, tokens int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	if p := s.spent[key]; p != nil {
		return p.requests, p.tokens
	}
	return 0, 0
}

func (s *Store) of(key string) *spent {
	p := s.spent[key]
	if p == nil {
		p = &spent{}
		s.spent[key] = p
	}
	return p
}

// Add counts what was used; its day is today.
func (s *Store) Add(r Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	r.Day = ""
	s.total.add(r, maxTotals)
	r.Day = s.day
	s.today.add(r, maxRows)
	s.of(r.Key).tokens += r.Input + r.Output + r.Estimated
	if s.timer == nil && !s.closed && s.dir != "" {
		s.timer = time.AfterFunc(delay, s.write)
	}
}

// turn begins a new day if the last one is over. s.mu is held.
func (s *Store) turn() time.Time {
	now := s.o.Now()
	if !now.Before(s.ends) { // a clock that goes back does not open an old day again
		if len(s.today) > 0 && s.dir != "" {
			s.past = append(s.past, s.today)
		}
		s.begin(now)
	}
	return now
}

func (s *Store) begin(now time.Time) {
	s.day, s.today, s.spent = dayOf(now), table{}, map[string]*spent{}
	s.ends = now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
}

// Totals returns what was used since the process started; the rows have no day.
func (s *Store) Totals() []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return rowsOf(s.total)
}

// Rows returns the usage of the last days, today included, the last day first. With an
// error come the rows that can be read.
func (s *Store) Rows(days int) ([]Row, error) {
	s.mu.Lock()
	now := s.turn()
	byDay := map[string]table{}
	for _, t := range append(slices.Clone(s.past), s.today) {
		for _, r := range t {
			if byDay[r.Day] == nil {
				byDay[r.Day] = table{}
			}
			byDay[r.Day].add(*r, maxRows)
		}
	}
	today := s.day
	s.mu.Unlock()
	var out []Row
	var failed error
	since := dayOf(now.AddDate(0, 0, 1-days))
	for i := range days {
		day := dayOf(now.AddDate(0, 0, -i))
		t := byDay[day]
		if t == nil && s.dir != "" {
			var err error
			t, err = read(s.path(day))
			failed = errors.Join(failed, err)
		}
		out = append(out, rowsOf(t)...)
	}
	if t := byDay[today]; today > dayOf(now) && today >= since { // the clock went back
		out = append(out, rowsOf(t)...)
	}
	slices.SortFunc(out, compare)
	return out, failed
}

func rowsOf(t table) []Row {
	out := make([]Row, 0, len(t))
	for _, r := range t {
		out = append(out, *r)
	}
	slices.SortFunc(out, compare)
	return out
}

// Close writes what is left to be written.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.writing.Lock()
	defer s.writing.Unlock()
	err := s.flush()
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
		s.lock = nil
	}
	return err
}

func (s *Store) path(day string) string { return filepath.Join(s.dir, day+".json") }
