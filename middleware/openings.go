package middleware

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware/wire"
)

// openings tells apart conversations that begin with the same words, where nothing
// but their beginning names their session. The first one has the name as it is, the
// next ones a number behind it. One that begins again after it was answered is
// another one; later requests are told by the first thing that the model said. Two
// that begin at the same time, before either is answered, share their first turn.
// None of this outlives the process: afterwards, a conversation goes on under the
// name without a number. The zero value is ready.
type openings struct {
	mu sync.Mutex // guards m and what is in it
	m  map[string]*opening
}

type opening struct {
	last     int // the number given last
	answered bool
	by       map[fingerprint]int // numbers, by what the model said first
}

// maxAlike bounds the conversations that begin alike and are told apart.
const maxAlike = 256

// settle gives a turn of a guessed session the session that it is. It returns
// whom to tell that the conversation's beginning was answered, nil for nobody.
func (o *openings) settle(t *ken.Turn) (answered func()) {
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
		op = &opening{by: map[fingerprint]int{}}
		o.m[key] = op
	}
	var n int
	if i := slices.IndexFunc(t.Messages, func(m ken.Message) bool { return m.Role == "assistant" }); i >= 0 {
		n = op.of(saidFirst(&t.Messages[i]))
	} else {
		n = op.begins()
		answered = func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			op.answered = true
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

// of returns the number of a conversation that goes on.
func (op *opening) of(first fingerprint) int {
	if n, ok := op.by[first]; ok {
		return n
	}
	for _, n := range op.by {
		if n == op.last { // that one is taken
			op.last++
			break
		}
	}
	if len(op.by) >= maxAlike {
		clear(op.by)
	}
	op.by[first] = op.last
	op.answered = true
	return op.last
}

func saidFirst(m *ken.Message) (f fingerprint) {
	h := sha256.New()
	digest(h, &ken.Message{Role: "assistant", Text: m.Text, ToolCalls: m.ToolCalls})
	copy(f[:], h.Sum(nil))
	return f
}
