package telemetry

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/kenlayer/ken/internal/lru"
)

// maxOpen is the largest number of session files open at once.
const maxOpen = 64

// ErrClosed is wrapped by the error of a write to a closed Log.
var ErrClosed = errors.New("the event log is closed")

// Log appends events to FOLDER/SESSION.jsonl, those of another owner than the configured one to
// FOLDER/owners/OWNER/SESSION.jsonl. It is safe for concurrent use.
// Each event is written at once, in one write.
type Log struct {
	dir string

	mu     sync.Mutex // guards the fields below and keeps lines whole
	files  lru.List[string, *os.File]
	closed bool
}

// Open returns a log into dir. The folder is created with the first event. The
// caller closes the log.
func Open(dir string) *Log { return &Log{dir: dir} }

// Write appends one event to the session's file. Events without a session go to
// "default". owner is "" for the configured owner.
func (l *Log) Write(owner, session string, event any) error {
	line, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.file(filepath.Join(Dir(l.dir, owner), FileName(session)))
	if err != nil {
		return fmt.Errorf("open event file: %w", err)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}

// Dir returns the folder of an owner's events below that of all events; owner is "" for the configured
// owner.
func Dir(events, owner string) string {
	if owner == "" {
		return events
	}
	return filepath.Join(events, "owners", escape(owner))
}

func (l *Log) file(path string) (*os.File, error) {
	if l.closed {
		return nil, ErrClosed
	}
	if f, ok := l.files.Get(path); ok {
		return f, nil
	}
	if l.files.Len() >= maxOpen {
		_, f := l.files.TakeOldest()
		_ = f.Close() // all its events were written
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		l.files.Put(path, f)
	}
	return f, err
}

// Close closes the files. Later writes fail with ErrClosed.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	var errs []error
	for path, f := range l.files.All() {
		l.files.Take(path)
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// maxName limits the escaped name in a file name; file systems allow 255 bytes.
const maxName = 200

// FileName returns the file name of a session: the session's id, escaped where a
// file system or a path requires it. An id that is too long is cut and ends in a
// hash of the whole id. Such a name is longer than any unhashed name, so no two
// sessions share a file.
func FileName(session string) string {
	return escape(cmp.Or(session, "default")) + ".jsonl"
}

// escape returns a name that is the name of a file or folder everywhere.
func escape(s string) string {
	name := strings.ReplaceAll(url.PathEscape(s), ":", "%3A")
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(s))
		name = fmt.Sprintf("%s~%x", name[:maxName], sum[:16])
	}
	return name
}
