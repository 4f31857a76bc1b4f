package tokenizer

import (
	"cmp"
	"slices"
)

// trie finds the tokens that are a prefix of a byte string. Node 0 is the root; the
// children of a node are neighbours in edges, sorted by byte.
type trie struct {
	nodes []trieNode
	edges []trieEdge
	root  [256]int32 // the root's children, 0 for none
}

type trieNode struct {
	token       int32 // the token that ends here, -1 for none
	first, last int32 // its edges: edges[first:last]
}

type trieEdge struct {
	b    byte
	node int32
}

type trieKey struct {
	text  string
	token int32
}

// newTrie indexes keys. Of equal texts the first wins; an empty one is left out.
func newTrie(keys []trieKey) *trie {
	slices.SortStableFunc(keys, func(a, b trieKey) int { return cmp.Compare(a.text, b.text) })
	t := &trie{nodes: []trieNode{{token: -1}}}
	// Breadth first, so that the edges of a node are added together.
	type span struct {
		node       int32
		keys       []trieKey
		characters int // that all of keys share
	}
	queue := []span{{keys: keys}}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		first := int32(len(t.edges))
		for i := 0; i < len(s.keys); {
			k := s.keys[i]
			if len(k.text) == s.characters {
				if n := &t.nodes[s.node]; n.token < 0 && k.text != "" {
					n.token = k.token
				}
				i++
				continue
			}
			b, j := k.text[s.characters], i+1
			for j < len(s.keys) && s.keys[j].text[s.characters] == b {
				j++
			}
			child := int32(len(t.nodes))
			t.nodes = append(t.nodes, trieNode{token: -1})
			t.edges = append(t.edges, trieEdge{b, child})
			queue = append(queue, span{child, s.keys[i:j], s.characters + 1})
			i = j
		}
		t.nodes[s.node].first, t.nodes[s.node].last = first, int32(len(t.edges))
	}
	for _, e := range t.edges[:t.nodes[0].last] {
		t.root[e.b] = e.node
	}
	return t
}

// child returns the child of n for byte b, 0 for none.
func (t *trie) child(n int32, b byte) int32 {
	if n == 0 {
		return t.root[b]
	}
	edges := t.edges[t.nodes[n].first:t.nodes[n].last]
	for len(edges) > 8 { // most nodes have few edges, a few have hundreds
		half := len(edges) / 2
		if edges[half].b <= b {
			edges = edges[half:]
		} else {
			edges = edges[:half]
		}
	}
	for i := range edges {
		if edges[i].b >= b {
			if edges[i].b == b {
				return edges[i].node
			}
			return 0
		}
	}
	return 0
}

// longest returns the longest token that is a prefix of s, and its length; -1 and 0 for
// none.
func (t *trie) longest(s []byte) (token int32, length int) {
	token = -1
	n := int32(0)
	for i, b := range s {
		if n = t.child(n, b); n == 0 {
			break
		}
		if t.nodes[n].token >= 0 {
			token, length = t.nodes[n].token, i+1
		}
	}
	return token, length
}
