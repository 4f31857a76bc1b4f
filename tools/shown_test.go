package tools

import (
	"fmt"
	"testing"
)

// A server that runs for months must not remember every session.
func TestShownMemoryIsBounded(t *testing.T) {
	m := newShownMemory()
	m.add("first", []Claim{{ID: "a", Text: "x"}})
	for i := range maxShownSessions - 1 {
		m.add(fmt.Sprint("session ", i), []Claim{{ID: "b", Text: "y"}})
	}
	m.add("first", []Claim{{ID: "c", Text: "z"}}) // it was shown something lately
	m.add("one more", []Claim{{ID: "d", Text: "w"}})
	if len(m.get("first")) != 2 || len(m.get("session 0")) != 0 || len(m.sessions) != maxShownSessions || len(m.order) != maxShownSessions {
		t.Errorf("first %v, the oldest %v, %d sessions", m.get("first"), m.get("session 0"), len(m.sessions))
	}
	for i := range 2 * maxShown {
		m.add("busy", []Claim{{ID: fmt.Sprint(i), Text: "t"}})
	}
	if n := len(m.get("busy")); n != maxShown {
		t.Errorf("%d of one session", n)
	}
}
