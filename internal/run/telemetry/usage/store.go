package usage

import (
	"cmp"
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
	dir string // "" stores nothing
	o   Options

	mu     sync.Mutex // guards the fields below
	day    string
	ends   time.Time // when the current day ends
	today  table
	past   []table // days that ended and are not yet written
	spent  map[string]*spent
	total  table
	timer  *time.Timer // of the next write; nil if nothing is to be written
	closed bool

	writing sync.Mutex // guards the fields below; locked before mu
	lock    *flock.Flock
	warned  bool
}

// spent is one key's usage of today, as its budget counts it.
type spent struct{ requests, tokens int64 }

// Limits of different rows: for a day, and since the process started.
const (
	maxRows   = 10_000
	maxTotals = 1_000
)

// delay is the time between a change and its write.
const delay = 5 * time.Second

// Open returns a store that keeps its files in dir and creates dir; "" stores no files.
// While another process holds dir, the figures of this one stay in memory. The caller closes
// the store. Errors: ErrCorrupt if today's file can't be read, because continuing would
// overwrite it.
func Open(dir string, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	s := &Store{dir: dir, o: o, total: table{}}
	s.begin(o.Now())
	s.writing.Lock()
	defer s.writing.Unlock()
	if _, err := s.hold(); err != nil {
		return nil, err
	}
	return s, nil
}

// Budget names a daily limit.
type Budget string

// Budgets, as Spend returns them.
const (
	Free     Budget = ""         // no limit was reached
	Requests Budget = "requests" // requests a day
	Tokens   Budget = "tokens"   // tokens a day
)

// Spend counts a request of a key towards its daily limits, unless one is reached. A limit
// of 0 means no limit. wait is the time until the next day begins. Tokens are counted when
// an answer ends, so running requests may exceed the limit.
func (s *Store) Spend(key string, requests, tokens int) (reached Budget, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.startDay()
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

// Spent returns how many requests and tokens of its daily limits a key has used today.
func (s *Store) Spent(key string) (requests, tokens int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startDay()
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

// Add adds r to today's figures.
func (s *Store) Add(r Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startDay()
	r.Day = ""
	s.total.add(r, maxTotals)
	r.Day = s.day
	s.today.add(r, maxRows)
	s.of(r.Key).tokens += r.Input + r.Output + r.Estimated
	if s.timer == nil && !s.closed && s.dir != "" {
		s.timer = time.AfterFunc(delay, s.write)
	}
}

// startDay begins a new day if the current one is over. The caller holds s.mu.
func (s *Store) startDay() time.Time {
	now := s.o.Now()
	if !now.Before(s.ends) { // a clock that is set back does not reopen a past day
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

// Totals returns the usage since the process started. The rows have no day.
func (s *Store) Totals() []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return rowsOf(s.total)
}

// Rows returns the usage of the last days, including today, latest day first. With an error
// it returns the rows that can be read.
func (s *Store) Rows(days int) ([]Row, error) {
	s.mu.Lock()
	now := s.startDay()
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
	if t := byDay[today]; today > dayOf(now) && today >= since { // the clock was set back
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

// Close writes the remaining figures.
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
