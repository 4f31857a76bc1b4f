package middleware

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware/wire"
)

// openings tells apart conversations that begin with the same words, where nothing
// but their beginning names their session. The first one has the name as it is, the
// next ones a number behind it. One that begins again after it was answered is
// another one; later requests are told by the first thing that the model said, which is
// heard when it answers. Two that begin at the same time, before either is answered,
// share their first turn.
// None of this outlives the process: afterwards, a conversation goes on under the
// name without a number. The zero value is ready.
type openings struct {
	mu sync.Mutex // guards m and what is in it
	m  map[string]*opening
}

type opening struct {
	last     int // the number given last
	answered bool
	by       map[fingerprint]*replied // by what the model said first
}

// replied is a conversation that was answered.
type replied struct {
	n  int
	on bool // it went on with that answer; else its client may send the answer back in other words
}

// maxAlike bounds the conversations that begin alike and are told apart.
const maxAlike = 256

// settle gives a turn of a guessed session the session that it is. It returns
// whom to tell that the conversation's beginning was answered, nil for nobody.
func (o *openings) settle(t *ken.Turn) (answered func(*ken.Message)) {
	if !wire.Guessed(t.Session) {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.m == nil {
		o.m = map[string]*opening{}
	}
	key := t.Owner + "\x00" + t.Session
	op := o.m[key]
	if op == nil {
		if len(o.m) >= maxConversations {
			for other := range o.m {
				delete(o.m, other)
				break
			}
		}
		op = &opening{by: map[fingerprint]*replied{}}
		o.m[key] = op
	}
	var n int
	if i := slices.IndexFunc(t.Messages, func(m ken.Message) bool { return m.Role == "assistant" }); i >= 0 {
		n = op.of(saidFirst(&t.Messages[i]))
	} else {
		n = op.begins()
		began := n
		answered = func(m *ken.Message) {
			o.mu.Lock()
			defer o.mu.Unlock()
			op.hears(began, m)
		}
	}
	if n > 0 {
		t.Session += "." + strconv.Itoa(n)
	}
	return answered
}

// begins returns the number of a conversation that begins.
func (op *opening) begins() int {
	if op.answered {
		op.last++
		op.answered = false
	}
	return op.last
}

// hears notes what the model answered a conversation that began as number n, nil for
// what can't be read. When another one that began with it was answered before, it is a
// new one.
func (op *opening) hears(n int, m *ken.Message) {
	op.answered = true
	if m == nil {
		return
	}
	if first := saidFirst(m); op.by[first] == nil {
		op.add(first, &replied{n: n})
	}
}

// of returns the number of a conversation that goes on. What the model said is told in
// other words by clients that shorten it or leave its reasoning out: then it is the one
// that was answered last and did not go on yet.
func (op *opening) of(first fingerprint) int {
	c := op.by[first]
	if c == nil {
		for _, other := range op.by {
			if !other.on && (c == nil || other.n > c.n) {
				c = other
			}
		}
		if c == nil {
			c = &replied{n: op.last}
		}
		op.add(first, c)
	}
	c.on = true
	op.answered = true
	return c.n
}

// add keeps a conversation by what the model said first. It gets a number of its own.
func (op *opening) add(first fingerprint, c *replied) {
	for _, other := range op.by {
		if other != c && other.n == c.n {
			op.last++
			c.n = op.last
			break
		}
	}
	if len(op.by) >= maxAlike {
		clear(op.by)
	}
	op.by[first] = c
}

// saidFirst is a fingerprint of an answer. White space around it, and the names of its
// calls, are not always sent back.
func saidFirst(m *ken.Message) (f fingerprint) {
	h := sha256.New()
	said := ken.Message{Role: "assistant", Text: strings.TrimSpace(m.Text)}
	for _, c := range m.ToolCalls {
		said.ToolCalls = append(said.ToolCalls, ken.ToolCall{Name: c.Name, Arguments: c.Arguments})
	}
	digest(h, &said)
	copy(f[:], h.Sum(nil))
	return f
}
