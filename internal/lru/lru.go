// Package lru holds values by key and knows which of them were not used for the longest time.
package lru

import (
	"cmp"
	"container/list"
	"iter"
	"sync"
)

// List holds values by key, in the order of their last use. The zero value is ready. It is not
// safe for concurrent use.
type List[K comparable, V any] struct {
	at    map[K]*list.Element
	order list.List // of entry, the last used first
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// Len returns the number of values.
func (l *List[K, V]) Len() int { return l.order.Len() }

// Get returns a value and counts it as used.
func (l *List[K, V]) Get(key K) (v V, ok bool) {
	if el := l.at[key]; el != nil {
		l.order.MoveToFront(el)
	}
	return l.Peek(key)
}

// Peek returns a value without counting it as used.
func (l *List[K, V]) Peek(key K) (v V, ok bool) {
	if el := l.at[key]; el != nil {
		return el.Value.(entry[K, V]).value, true
	}
	return v, false
}

// Put sets a value, counts it as used, and returns the value that it replaces.
func (l *List[K, V]) Put(key K, v V) (old V, replaced bool) {
	if el := l.at[key]; el != nil {
		old, replaced = el.Value.(entry[K, V]).value, true
		el.Value = entry[K, V]{key, v}
		l.order.MoveToFront(el)
		return old, true
	}
	if l.at == nil {
		l.at = map[K]*list.Element{}
	}
	l.at[key] = l.order.PushFront(entry[K, V]{key, v})
	return old, false
}

// Take removes a value and returns it.
func (l *List[K, V]) Take(key K) (v V, ok bool) {
	if v, ok = l.Peek(key); ok {
		l.order.Remove(l.at[key])
		delete(l.at, key)
	}
	return v, ok
}

// TakeOldest removes the value that was not used for the longest time. The list must not be empty.
func (l *List[K, V]) TakeOldest() (K, V) {
	e := l.order.Back().Value.(entry[K, V])
	l.Take(e.key)
	return e.key, e.value
}

// All ranges over the values, the last used first. The loop may take the value that it is at.
func (l *List[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for el := l.order.Front(); el != nil; {
			next, e := el.Next(), el.Value.(entry[K, V])
			if !yield(e.key, e.value) {
				return
			}
			el = next
		}
	}
}

// maxValues is the default of Map.Max.
const maxValues = 1024

// Map is a List of at most Max values that is safe for concurrent use. It drops the value that was
// not used for the longest time.
type Map[K comparable, V any] struct {
	Max int // 0 means 1024; not changed after the first use

	mu   sync.Mutex // guards list
	list List[K, V]
}

// Len returns the number of values.
func (m *Map[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.list.Len()
}

// Get returns a value and counts it as used.
func (m *Map[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.list.Get(key)
}

// Peek returns a value without counting it as used.
func (m *Map[K, V]) Peek(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.list.Peek(key)
}

// Put sets a value, counts it as used, and returns the value that it replaces.
func (m *Map[K, V]) Put(key K, v V) (old V, replaced bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, replaced = m.list.Put(key, v)
	if m.list.Len() > cmp.Or(m.Max, maxValues) {
		m.list.TakeOldest()
	}
	return old, replaced
}

// Take removes a value and returns it.
func (m *Map[K, V]) Take(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.list.Take(key)
}

// Drop removes the values whose key gone accepts.
func (m *Map[K, V]) Drop(gone func(K) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.list.All() {
		if gone(key) {
			m.list.Take(key)
		}
	}
}
