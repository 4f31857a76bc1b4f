package reading

import (
	"strings"
	"sync"
)

// class is what the rules know about a word; a word may have several.
type class uint32

const (
	common      class = 1 << iota // too common to be a name by itself
	function                      // a function word: no part of a noun phrase
	determiner                    // the, our, this: a noun phrase follows
	first                         // I, my, me
	plural                        // we, our, us
	second                        // you, your
	third                         // he, she, they, him
	neuter                        // it, this, that as a subject
	auxiliary                     // is, has, must: a finite verb without meaning of its own
	verb                          // a base form that opens an order
	finite                        // a verb in another form
	adjective                     // says nothing about which thing it is: new, main
	calendar                      // days and months
	product                       // a known product, written in any case
	hedge                         // may, sometimes, probably
	negative                      // not, never, without
	label                         // what stands before a colon and is nobody: note, fix
	past                          // an irregular past: went, was
	preposition                   // in, with, of
	generic                       // of the common ones, those that are no name whatever is known
	faint                         // a weak hint at an aspect
	relating                      // the first word of a phrase of relations
)

// entry is what the rules know about a word.
type entry struct {
	class  class
	aspect uint8 // of aspects; 0 is none
	head   uint8 // of headTypes; 0 is none
	drop   bool  // a head that is left out of the name: the payments service
}

func (e entry) is(c class) bool { return e.class&c != 0 }

// lexicon holds every word that a rule knows, so that a word is looked up once.
var lexicon = sync.OnceValue(func() map[string]entry {
	m := make(map[string]entry, 2600)
	add := func(words string, set func(*entry)) {
		for w := range strings.FieldsSeq(words) {
			e := m[w]
			set(&e)
			m[w] = e
		}
	}
	for _, l := range lists {
		add(l.words, func(e *entry) { e.class |= l.class })
	}
	for w := range relations() {
		add(w, func(e *entry) { e.class |= relating })
	}
	for i, h := range heads {
		add(h.kept, func(e *entry) { e.head = uint8(i + 1) })
		add(h.dropped, func(e *entry) { e.head, e.drop = uint8(i+1), true })
	}
	for i, a := range aspects {
		add(a.cues, func(e *entry) {
			if e.aspect == 0 {
				e.aspect = uint8(i + 1)
			}
		})
	}
	return m
})
