package memory

import "strings"

// node is a treap: a search tree by key and a heap by priority, which keeps it
// about balanced. No node changes once it is part of a tree, so that a tree is a
// snapshot; nil is the empty one. What changes a tree copies the nodes on the way
// to the key and shares the others.
type node struct {
	key         string
	value       []byte
	priority    uint64 // a hash of the key
	left, right *node
}

func (n *node) get(key string) *node {
	for n != nil && n.key != key {
		if key < n.key {
			n = n.left
		} else {
			n = n.right
		}
	}
	return n
}

// scan calls yield for every key with the prefix, in order, until it says no.
// There is no end to be computed, so a prefix that ends in 0xff is like any other.
func (n *node) scan(prefix string, yield func(*node) bool) bool {
	switch {
	case n == nil:
		return true
	case n.key < prefix:
		return n.right.scan(prefix, yield)
	case !n.left.scan(prefix, yield):
		return false
	case !strings.HasPrefix(n.key, prefix):
		return true // it lies behind them all, and so does what is right of it
	}
	return yield(n) && n.right.scan(prefix, yield)
}

// put returns the tree with m in it, whose children are not set.
func (n *node) put(m *node) *node {
	switch {
	case n == nil:
		return m
	case m.key == n.key:
		return &node{m.key, m.value, m.priority, n.left, n.right}
	case m.priority > n.priority: // an equal key would have an equal priority, so it is not below
		left, right := n.split(m.key)
		return &node{m.key, m.value, m.priority, left, right}
	case m.key < n.key:
		return &node{n.key, n.value, n.priority, n.left.put(m), n.right}
	}
	return &node{n.key, n.value, n.priority, n.left, n.right.put(m)}
}

// remove returns the tree without a key.
func (n *node) remove(key string) *node {
	switch {
	case n.get(key) == nil:
		return n
	case key < n.key:
		return &node{n.key, n.value, n.priority, n.left.remove(key), n.right}
	case key > n.key:
		return &node{n.key, n.value, n.priority, n.left, n.right.remove(key)}
	}
	return n.left.join(n.right)
}

// split returns what lies before a key and what lies behind it.
func (n *node) split(key string) (before, behind *node) {
	if n == nil {
		return nil, nil
	}
	if n.key < key {
		before, behind = n.right.split(key)
		return &node{n.key, n.value, n.priority, n.left, before}, behind
	}
	before, behind = n.left.split(key)
	return before, &node{n.key, n.value, n.priority, behind, n.right}
}

// join returns one tree of two, all of m behind all of n.
func (n *node) join(m *node) *node {
	switch {
	case n == nil:
		return m
	case m == nil:
		return n
	case n.priority > m.priority:
		return &node{n.key, n.value, n.priority, n.left, n.right.join(m)}
	}
	return &node{m.key, m.value, m.priority, n.join(m.left), m.right}
}
