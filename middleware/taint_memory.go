package middleware

import (
	"container/list"
	"slices"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/guardrail/taint"
)

// Bounds of what is remembered of external claims: of one session, and of all. A word
// takes about a hundred bytes.
const (
	suspectTexts    = 64
	suspectWords    = 8 << 10
	suspectSessions = 1024
	allSuspectWords = 512 << 10
)

// suspicions remembers which external claims a session's model has read, by owner and
// session. The least recently used sessions are forgotten. It lives in memory alone,
// like the blocks that hold the claims: a process that starts anew has put nothing
// before a model. The zero value is ready.
type suspicions struct {
	mu    sync.Mutex // guards the rest
	at    map[string]*list.Element
	used  *list.List // of *suspects, the latest first
	words int        // of all
}

// suspects are the external claims of one session.
type suspects struct {
	key     string
	counted int // words; guarded by the lock of suspicions

	mu        sync.Mutex // guards the rest
	now, old  *taint.Set // the older half goes when the newer is full; old may be nil
	unsettled []flagged  // what no header has told yet
}

// flagged are the taints of one turn's answer.
type flagged struct {
	turn   string
	taints []ken.Taint
}

func suspicion(owner, session string) string { return owner + "\x00" + session }

// external reports an item that comes from outside and can steer.
func external(it *ken.Item) bool { return !it.Trust.AtLeast(ken.TrustAgent) && it.Text != "" }

// find returns a session's suspects, nil when it has none.
func (s *suspicions) find(owner, session string) *suspects {
	s.mu.Lock()
	defer s.mu.Unlock()
	el, ok := s.at[suspicion(owner, session)]
	if !ok {
		return nil
	}
	s.used.MoveToFront(el)
	return el.Value.(*suspects)
}

// put returns a session's suspects, made if need be.
func (s *suspicions) put(owner, session string) *suspects {
	key := suspicion(owner, session)
	s.mu.Lock()
	defer s.mu.Unlock()
	if el, ok := s.at[key]; ok {
		return el.Value.(*suspects)
	}
	if s.at == nil {
		s.at, s.used = map[string]*list.Element{}, list.New()
	}
	sus := &suspects{key: key, now: taint.NewSet()}
	s.at[key] = s.used.PushFront(sus)
	return sus
}

// grown notes that a session has so many words more, and makes room.
func (s *suspicions) grown(sus *suspects, by int) {
	if by == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if el, ok := s.at[sus.key]; !ok || el.Value != sus { // it was forgotten meanwhile
		return
	}
	s.words += by
	sus.counted += by
	for s.words > allSuspectWords && s.used.Len() > 1 || s.used.Len() > suspectSessions {
		last := s.used.Remove(s.used.Back()).(*suspects)
		delete(s.at, last.key)
		s.words -= last.counted
	}
}

// size counts words; the caller holds the lock.
func (sus *suspects) size() int {
	n := sus.now.Words()
	if sus.old != nil {
		n += sus.old.Words()
	}
	return n
}

// add takes up the external ones of items, and returns by how many words it grew.
func (sus *suspects) add(items []ken.Item) int {
	sus.mu.Lock()
	defer sus.mu.Unlock()
	before := sus.size()
	for i := range items {
		it := &items[i]
		if !external(it) || sus.now.Has(it.ID) {
			continue
		}
		if sus.now.Len() >= suspectTexts || sus.now.Words() >= suspectWords {
			sus.old, sus.now = sus.now, taint.NewSet()
		}
		sus.now.Add(it.ID, it.Text)
	}
	return sus.size() - before
}

// settle takes what no header has told yet.
func (sus *suspects) settle() []flagged {
	sus.mu.Lock()
	defer sus.mu.Unlock()
	out := sus.unsettled
	sus.unsettled = nil
	return out
}

// maxUnsettled bounds what waits for a header.
const maxUnsettled = 8

// owe keeps what the next response is to tell.
func (sus *suspects) owe(turn string, taints []ken.Taint) {
	sus.mu.Lock()
	defer sus.mu.Unlock()
	if len(sus.unsettled) < maxUnsettled {
		sus.unsettled = append(sus.unsettled, flagged{turn, taints})
	}
}

// suspect takes up the external claims in blocks that a turn's model reads, and
// returns the session's, nil when there never were any. A turn without a session is
// judged by what it carries itself.
func (l *Layer) suspect(t *ken.Turn, blocks []placed) *suspects {
	anew := func(p placed) bool {
		return slices.ContainsFunc(p.receipt.Items, func(it ken.Item) bool { return external(&it) })
	}
	if t.Session == "" {
		if !slices.ContainsFunc(blocks, anew) {
			return nil
		}
		sus := &suspects{now: taint.NewSet()}
		for _, p := range blocks {
			sus.add(p.receipt.Items)
		}
		return sus
	}
	sus := l.suspicions.find(t.Owner, t.Session)
	for _, p := range blocks { // what is known already costs a look
		if !anew(p) {
			continue
		}
		if sus == nil {
			sus = l.suspicions.put(t.Owner, t.Session)
		}
		l.suspicions.grown(sus, sus.add(p.receipt.Items))
	}
	return sus
}

// shown takes up external items that a session's model read by another way than a
// block.
func (l *Layer) shown(owner, session string, items []ken.Item) {
	if session == "" || !slices.ContainsFunc(items, func(it ken.Item) bool { return external(&it) }) {
		return
	}
	sus := l.suspicions.put(owner, session)
	l.suspicions.grown(sus, sus.add(items))
}
