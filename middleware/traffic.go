package middleware

import (
	"sync"

	"github.com/kenlayer/ken"
)

// maxConversations bounds the conversations whose last request is remembered
// for counting.
const maxConversations = 1024

// traffic counts what a provider's prompt cache can serve: a cache keeps the
// longest beginning that two requests share, so that is what is compared.
type traffic struct {
	mu   sync.Mutex // guards last
	last map[string][]segment
}

// makeRoom deletes any one entry of a map that has reached its limit.
func makeRoom[K comparable, V any](m map[K]V, limit int) {
	if len(m) < limit {
		return
	}
	for key := range m {
		delete(m, key)
		return
	}
}

// segment is one message of a request as it went upstream.
type segment struct {
	print fingerprint
	block string // the inserted block, "" for the client's own message
	bytes int64
}

func newTraffic() *traffic { return &traffic{last: map[string][]segment{}} }

// count fills in the receipt's CachedBytes and NewBytes, of a conversation with the
// blocks in it, by rising Before. Requests of a session are compared
// with the one before; without a session, conversations are told apart by their
// first message.
func (tr *traffic) count(t *ken.Turn, p *fingerprints, blocks []Insertion, r *ken.Receipt) {
	at, sizes := p.whole, p.sizes
	if len(at) == 0 {
		return
	}
	now := make([]segment, 0, len(at)+len(blocks))
	next := 0
	for i := range at {
		for ; next < len(blocks) && blocks[next].Before == i; next++ {
			text := blocks[next].Text
			now = append(now, segment{block: text, bytes: int64(len(text))})
		}
		now = append(now, segment{print: at[i], bytes: sizes[i]})
	}
	name := t.Owner + "\x00" + t.Session
	if t.Session == "" {
		name += string(at[0][:])
	}
	tr.mu.Lock()
	before := tr.last[name]
	if before == nil {
		makeRoom(tr.last, maxConversations)
	}
	tr.last[name] = now
	tr.mu.Unlock()
	shared := true
	for i, s := range now {
		shared = shared && i < len(before) && before[i] == s
		if shared {
			r.CachedBytes += s.bytes
		} else {
			r.NewBytes += s.bytes
		}
	}
}
