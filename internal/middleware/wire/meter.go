package wire

import (
	"bytes"
	"strings"
)

// Meter reads the model and the token counts of an answer while it passes. It keeps at most two
// events of a stream, and up to 4 MiB of an answer that is one JSON object. Use NewMeter.
type Meter struct {
	dialect  Dialect
	partial  []byte // for a stream the incomplete line, otherwise the answer so far
	first    []byte // data of the first event, which has the model
	last     []byte // data of the last event with token counts
	events   int
	stream   bool
	started  bool
	skipLine bool // the rest of the line is ignored because the line is too long
}

// NewMeter returns a meter for one answer of the dialect d.
func NewMeter(d Dialect) *Meter { return &Meter{dialect: d} }

const (
	maxMetered = 4 << 20  // bytes of a JSON answer, and of one line of a stream
	maxFirst   = 64 << 10 // bytes of a stream's first event
)

// Write processes the next bytes of an answer, decoded. It never fails.
func (m *Meter) Write(p []byte) (int, error) {
	n := len(p)
	if !m.started {
		if p = bytes.TrimLeft(p, " \t\r\n\xef\xbb\xbf"); len(p) == 0 {
			return n, nil
		}
		m.started, m.stream = true, p[0] != '{'
	}
	for m.stream {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if !ended {
			break
		}
		if len(m.partial) > 0 {
			line = append(m.partial, line...)
		}
		if !m.skipLine {
			m.line(line)
		}
		m.partial, m.skipLine, p = m.partial[:0], false, rest
	}
	if m.skipLine = m.skipLine || len(m.partial)+len(p) > maxMetered; m.skipLine {
		m.partial = nil
		return n, nil
	}
	m.partial = append(m.partial, p...)
	return n, nil
}

// line processes a line of a stream, and keeps it if it has token counts.
func (m *Meter) line(line []byte) {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if data = bytes.TrimSpace(data); !ok || len(data) == 0 || data[0] != '{' {
		return
	}
	m.events++
	if m.events == 1 && len(data) <= maxFirst {
		m.first = bytes.Clone(data)
		return // Read uses it in any case
	}
	if hasUsage(data) {
		m.last = append(m.last[:0], data...)
	}
}

// hasUsage reports whether an event contains an object named usage, at any level.
func hasUsage(data []byte) bool {
	for {
		_, after, ok := bytes.Cut(data, []byte(`"usage"`))
		if !ok {
			return false
		}
		if value, ok := bytes.CutPrefix(bytes.TrimLeft(after, " \t"), []byte(":")); ok && bytes.HasPrefix(bytes.TrimLeft(value, " \t"), []byte("{")) {
			return true
		}
		data = after
	}
}

// Read returns the model and the usage, as far as the answer has them so far. ok is false if it has
// no token counts.
func (m *Meter) Read() (model string, u Usage, ok bool) {
	body := m.partial
	if m.stream {
		m.line(m.partial)
		body = bytes.Join([][]byte{[]byte("data: "), m.first, []byte("\n\ndata: "), m.last, []byte("\n\n")}, nil)
	}
	a, _ := ParseAnswer(m.dialect, body)
	return strings.Clone(a.Model), a.Usage, a.Usage.Input > 0 || a.Usage.Output > 0
}

// Partial reports whether the counts are those of the start of a stream alone, before most of the output: those
// of Anthropic's message_start, when the stream broke off.
func (m *Meter) Partial() bool { return m.stream && m.dialect == Messages && len(m.last) == 0 }

// Events returns the number of events of a stream so far, each of about one token; 0 if the answer
// is not a stream.
func (m *Meter) Events() int { return m.events }
