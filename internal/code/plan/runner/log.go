package runner

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/kenlayer/ken/guardrail"
)

// What is kept of an agent's output, in bytes: so much from its start, so much from its
// end. chunk is how much is looked through for secrets at a time.
const (
	logHead = 4 << 20
	logTail = 1 << 20
	chunk   = 64 << 10
)

// logFile is an agent's output on disk. A nil one keeps nothing.
type logFile struct {
	file  *os.File
	held  []byte // of the head, not yet written
	room  int    // left in the head
	tail  []byte // behind the head: at least its last logTail bytes
	after int    // bytes behind the head
}

func newLog(f *os.File) *logFile { return &logFile{file: f, room: logHead} }

func (l *logFile) write(p []byte) error {
	if l == nil {
		return nil
	}
	n := min(len(p), l.room)
	l.held = append(l.held, p[:n]...)
	l.room -= n
	var err error
	if end := bytes.LastIndexByte(l.held, '\n') + 1; len(l.held) >= chunk && end > 0 || len(l.held) >= 2*chunk {
		if end == 0 {
			end = len(l.held)
		}
		err = l.put(l.held[:end])
		l.held = append(l.held[:0], l.held[end:]...)
	}
	l.after += len(p) - n
	l.tail = append(l.tail, p[n:]...)
	if spare := len(l.tail) - logTail; spare > logTail {
		l.tail = append(l.tail[:0], l.tail[spare:]...)
	}
	return err
}

// put writes text without what looks like a secret.
func (l *logFile) put(text []byte) error {
	clean, _ := guardrail.Redact(string(text))
	_, err := l.file.WriteString(clean)
	return err
}

// close writes what is still held.
func (l *logFile) close() error {
	if l == nil {
		return nil
	}
	var err error
	if left := l.after - logTail; left > 0 { // the middle, up to the end of a line
		tail := l.tail[len(l.tail)-logTail:]
		_, whole, ok := bytes.Cut(tail, []byte{'\n'})
		if !ok {
			whole = tail
		}
		err = l.put(fmt.Appendf(l.held, "\n… %d bytes are left out here …\n", l.after-len(whole)))
		err = errors.Join(err, l.put(whole))
	} else {
		err = l.put(append(l.held, l.tail...))
	}
	return errors.Join(err, l.file.Close())
}
