// Package outline implements the index behind store.Structure: for each name, the
// records that carry it, grouped by their role. Stores keep it in memory, next to the
// rows that their filters test.
//
// A name has a list for each group of its records: its rules, its links by kind, the
// claims that it is the primary entity of by aspect, and the rest. Lists are sorted in
// reading order, so that an outline reads the front of a list and only counts the rest.
// Names, aspects and records are numbers internally, and each string is stored once:
// 100,000 claims with two of 20,000 names each take about 15 MB.
//
// For rules only, the words are stored as well, with a list of the rules that contain
// each word: a rule may be older than the name that it is about. That takes 0.6 MB for
// 1,000 rules of 25 words.
//
// A name is known as long as a record carries it. Its spelling is removed with the last
// record, so that nothing is left of forgotten claims. The same holds for the words of
// rules.
//
// An [Index] has no lock. Any number of goroutines may read it while none changes it.
// It must share the lock of the rows that the filters test, because otherwise an answer
// could mix two states of the store.
package outline
