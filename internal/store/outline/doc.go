// Package outline is the index behind store.Structure: what each name carries, by
// what it is there for. It is made for stores to keep in memory, next to the rows
// that their filters look at.
//
// A name has a list for each sort of record under it: its rules, its links by kind,
// the claims that it is the primary entity of by aspect, and the rest. Every list is
// kept in the order in which it is read, so that an outline takes the front of it
// and only counts what follows. Names, aspects and records are numbers inside, and a
// string is kept once: 100,000 claims under two of 20,000 names each take about
// 15 MB.
//
// Of rules, and of nothing else, the words are kept as well, with a list of the rules
// that say each: a rule may be older than the name that it is about. That is 0.6 MB for
// 1,000 rules of 25 words.
//
// A name is known as long as a record carries it: with the last one, its spelling
// goes too, so that nothing is left of what was forgotten. So do the words of rules.
//
// An [Index] has no lock. Any number of goroutines may read it while nobody changes
// it: it shares the lock of the rows that the readers' filters look at, without which
// an answer could mix two states of the store.
package outline
