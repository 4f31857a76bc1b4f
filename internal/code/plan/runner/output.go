package runner

import (
	"bytes"
	"errors"
	"sync"
)

// output is where the lines of all agents come together.
type output struct {
	mu   sync.Mutex // guards calls of tell
	tell func(agent, line string)
}

// maxLine is where a line is cut that doesn't end, in bytes.
const maxLine = 64 << 10

// lines cuts what an agent writes into lines.
type lines struct {
	agent string
	to    *output
	log   *logFile
	begun []byte // a line without its end
	err   error  // the log's
}

// Write never fails: a command must not die of a log that can't be written.
func (l *lines) Write(p []byte) (int, error) {
	if l.err == nil {
		l.err = l.log.write(p)
	}
	if l.to.tell == nil {
		return len(p), nil
	}
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		if room := maxLine - len(l.begun); len(line) > room {
			line, after, ended = rest[:room], rest[room:], true
		}
		l.begun = append(l.begun, line...)
		if rest = after; ended {
			l.flush()
		}
	}
	return len(p), nil
}

func (l *lines) flush() {
	l.to.mu.Lock()
	defer l.to.mu.Unlock()
	l.to.tell(l.agent, string(bytes.TrimSuffix(l.begun, []byte{'\r'})))
	l.begun = l.begun[:0]
}

// close hands over the last line, and returns what went wrong with the log.
func (l *lines) close() error {
	if len(l.begun) > 0 {
		l.flush()
	}
	return errors.Join(l.err, l.log.close())
}
