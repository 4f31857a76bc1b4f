package middleware

import (
	"container/list"
	"strings"
)

// find returns a session's last turn, nil when there is none.
func (hs *heeds) find(key string) *heed {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	el, ok := hs.at[key]
	if !ok {
		return nil
	}
	hs.used.MoveToFront(el)
	return el.Value.(*heed)
}

// take removes and returns a session's last turn.
func (hs *heeds) take(key string) *heed {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	el, ok := hs.at[key]
	if !ok {
		return nil
	}
	delete(hs.at, key)
	return hs.used.Remove(el).(*heed)
}

// put keeps a turn, and returns the one of the same owner that there is no room for
// any more. What goes of another owner's is lost: it can't be written from here.
func (hs *heeds) put(h *heed) (old *heed) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.at == nil {
		hs.at, hs.used = map[string]*list.Element{}, list.New()
	}
	hs.at[h.key] = hs.used.PushFront(h)
	if hs.used.Len() <= maxHeeds {
		return nil
	}
	last := hs.used.Remove(hs.used.Back()).(*heed)
	delete(hs.at, last.key)
	if last.owner != h.owner {
		return nil
	}
	return last
}

// all removes and returns everything, the oldest first.
func (hs *heeds) all() (out []*heed) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.used == nil {
		return nil
	}
	for el := hs.used.Back(); el != nil; el = el.Prev() {
		out = append(out, el.Value.(*heed))
	}
	hs.at, hs.used = nil, nil
	return out
}

// drop forgets what waits of an owner.
func (hs *heeds) drop(owner string) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for key, el := range hs.at {
		if strings.HasPrefix(key, owner+"\x00") {
			hs.used.Remove(el)
			delete(hs.at, key)
		}
	}
}
