package usage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/durable"
)

// file is the stored form of a day.
type file struct {
	Rows []Row `json:"rows"`
}

// lockName is the lock file of the process that writes a folder's figures.
const lockName = ".lock"

// read returns a day's rows; nil for a day without a file. Errors: ErrCorrupt for a file
// that can't be read.
func read(path string) (table, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var f file
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeCorrupt, Field: filepath.Base(path), Msg: "usage that can't be read", Err: err,
			Try: "Move " + path + " away: usage of that day is then counted anew."}
	}
	t := table{}
	for _, r := range f.Rows {
		t.add(r, maxRows)
	}
	return t, nil
}

// hold takes the folder's lock, if no other process has it, and reports whether this
// process holds it. It adds the stored figures of today to those counted so far. The caller
// holds s.writing.
func (s *Store) hold() (bool, error) {
	if s.dir == "" || s.lock != nil {
		return s.lock != nil, nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return false, fmt.Errorf("keep usage: %w", err)
	}
	lock := flock.New(filepath.Join(s.dir, lockName), flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); !ok || err != nil {
		return false, errors.Join(err, lock.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startDay()
	had, err := read(s.path(s.day))
	for _, t := range s.past {
		if err == nil {
			err = t.load(s.path(dayIn(t)))
		}
	}
	if err != nil {
		return false, errors.Join(err, lock.Close())
	}
	for _, r := range had {
		s.today.add(*r, maxRows)
		p := s.of(r.Key)
		p.requests += r.Requests
		p.tokens += r.Input + r.Output + r.Estimated
	}
	s.lock = lock
	return true, nil
}

// load adds the rows that another process wrote for the same day.
func (t table) load(path string) error {
	had, err := read(path)
	for _, r := range had {
		t.add(*r, maxRows)
	}
	return err
}

// dayIn returns the day of a table that has rows.
func dayIn(t table) string {
	for _, r := range t {
		return r.Day
	}
	return ""
}

// write flushes the rows when the timer fires, and schedules another try if that fails.
func (s *Store) write() {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	s.timer = nil
	closed := s.closed
	s.mu.Unlock()
	if closed { // Close writes the rows
		return
	}
	err := s.flush()
	if err == nil {
		s.warned = false
		return
	}
	if !s.warned {
		s.o.Log.Warn("usage is counted and not kept", "cause", err, "try", ken.Hint(err))
		s.warned = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil && !s.closed {
		s.timer = time.AfterFunc(delay, s.write)
	}
}

var errHeld = &ken.Error{Code: ken.CodeHeld, Msg: "another process keeps its usage in the same folder", Try: "End the other ken serve of this project."}

// flush writes the days that have changed. The caller holds s.writing.
func (s *Store) flush() error {
	s.mu.Lock()
	nothing := s.dir == "" || len(s.past) == 0 && len(s.today) == 0
	s.mu.Unlock()
	if nothing {
		return nil
	}
	if ok, err := s.hold(); err != nil {
		return err
	} else if !ok {
		return errHeld
	}
	s.mu.Lock()
	past, day, today := s.past, s.day, rowsOf(s.today)
	s.mu.Unlock()
	for _, t := range past {
		if err := save(s.path(dayIn(t)), rowsOf(t)); err != nil {
			return err
		}
		s.mu.Lock()
		s.past = s.past[1:]
		s.mu.Unlock()
	}
	if len(today) == 0 {
		return nil
	}
	return save(s.path(day), today)
}

// save replaces a day's file atomically.
func save(path string, rows []Row) error {
	b, err := json.Marshal(file{rows})
	if err != nil {
		return err
	}
	if err := durable.WriteFile(path, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("keep usage: %w", err)
	}
	return nil
}
