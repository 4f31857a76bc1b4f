package telemetry

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// maxOpen bounds the session files kept open at once.
const maxOpen = 64

// ErrClosed is wrapped by the error of a write to a closed log.
var ErrClosed = errors.New("the event log is closed")

// Log appends events to FOLDER/SESSION.jsonl. Safe for concurrent use. Each
// event is written whole, in one write, as soon as it is given.
type Log struct {
	dir string

	mu     sync.Mutex // guards the rest, and keeps lines whole
	files  map[string]*os.File
	closed bool
}

// Open returns a log into dir, which is created with the first event.
func Open(dir string) *Log { return &Log{dir: dir, files: map[string]*os.File{}} }

// Write appends one event to the session's file. A session without a name goes
// to "default".
func (l *Log) Write(session string, event any) error {
	line, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.file(FileName(session))
	if err != nil {
		return fmt.Errorf("open event file: %w", err)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}

func (l *Log) file(name string) (*os.File, error) {
	if l.closed {
		return nil, ErrClosed
	}
	if f, ok := l.files[name]; ok {
		return f, nil
	}
	if len(l.files) >= maxOpen {
		for other, f := range l.files {
			delete(l.files, other)
			_ = f.Close() // every event in it was written already
			break
		}
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(l.dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		l.files[name] = f
	}
	return f, err
}

// Close closes the files. Later writes fail with ErrClosed.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	var errs []error
	for _, f := range l.files {
		errs = append(errs, f.Close())
	}
	clear(l.files)
	return errors.Join(errs...)
}

// maxName bounds the escaped name in a file's name; file systems allow 255 bytes.
const maxName = 200

// FileName is the file of a session: its name, escaped where a file system or a
// path would object. A name that is too long ends in a hash of the whole, and is
// then longer than any that is not, so that no two sessions share a file.
func FileName(session string) string {
	if session == "" {
		session = "default"
	}
	name := strings.ReplaceAll(url.PathEscape(session), ":", "%3A")
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(session))
		name = fmt.Sprintf("%s~%x", name[:maxName], sum[:16])
	}
	return name + ".jsonl"
}
