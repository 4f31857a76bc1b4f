package lru

import (
	"fmt"
	"strings"
	"testing"
)

func TestListKnowsWhatWasUsedLast(t *testing.T) {
	var l List[string, int]
	for i, key := range []string{"a", "b", "c"} {
		if _, replaced := l.Put(key, i); replaced {
			t.Errorf("%s replaced a value", key)
		}
	}
	l.Get("a")
	l.Peek("b")
	if old, replaced := l.Put("c", 7); old != 2 || !replaced {
		t.Errorf("c replaced %d, %v", old, replaced)
	}
	if key, v := l.TakeOldest(); key != "b" || v != 1 {
		t.Errorf("the oldest is %s: %d", key, v)
	}
	for key := range l.All() {
		if v, ok := l.Take(key); key == "c" && v != 7 || !ok {
			t.Errorf("%s: %d, %v", key, v, ok)
		}
	}
	if _, ok := l.Get("a"); ok || l.Len() != 0 {
		t.Errorf("%d values are left", l.Len())
	}
}

func TestMapIsBounded(t *testing.T) {
	var m Map[string, int]
	m.Put("o/used", 1)
	for i := range 2 * maxValues {
		m.Put(fmt.Sprint("o/", i), i)
		if _, ok := m.Get("o/used"); !ok {
			t.Fatal("the value that is used most was dropped")
		}
	}
	if _, ok := m.Peek("o/0"); ok || m.Len() != maxValues {
		t.Errorf("%d values", m.Len())
	}
	m.Put("p/other", 2)
	m.Drop(func(key string) bool { return strings.HasPrefix(key, "o/") })
	if v, ok := m.Take("p/other"); v != 2 || !ok || m.Len() != 0 {
		t.Errorf("p/other: %d, %v; %d are left", v, ok, m.Len())
	}
}
