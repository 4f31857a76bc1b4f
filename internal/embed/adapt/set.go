package adapt

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/embed/train"
)

// maxPositives is the maximum number of passages of one pair that are trained with.
const maxPositives = 3

// split divides the pairs by file. Whole files are held out, in the order of their
// seeded hashes, until they have the given share of the pairs that are not weak, and at
// least least of them. The rest is for training, without the pairs that touch a
// held-out file, or share a passage or a question with one.
func split(set *Set, seed uint64, share float64, least int) (tune, held []Pair) {
	count := map[string]int{} // that are not weak
	all := 0
	for _, p := range set.Pairs {
		count[p.File] += 0
		if !p.Weak {
			count[p.File]++
			all++
		}
	}
	type file struct {
		name string
		hash uint64
	}
	files := make([]file, 0, len(count))
	for name := range count {
		files = append(files, file{name, hash(seed, name)})
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(cmp.Compare(a.hash, b.hash), strings.Compare(a.name, b.name)) })
	want := max(least, int(math.Ceil(share*float64(all))))
	aside := map[string]bool{}
	for _, f := range files {
		if want <= 0 {
			break
		}
		aside[f.name] = true
		want -= count[f.name]
	}
	passages, questions := map[int]bool{}, map[string]bool{}
	for _, p := range set.Pairs {
		if aside[p.File] {
			held = append(held, p)
			questions[p.Q] = true
			for _, i := range p.Passages {
				passages[i] = true
			}
		}
	}
	for _, p := range set.Pairs {
		leaks := aside[p.File] || questions[p.Q] || slices.ContainsFunc(p.Touches, func(f string) bool { return aside[f] }) ||
			slices.ContainsFunc(p.Passages, func(i int) bool { return passages[i] })
		if !leaks {
			tune = append(tune, p)
		}
	}
	return tune, held
}

// positives returns the texts to train with.
func positives(set *Set, pairs []Pair) []train.Pair {
	var out []train.Pair
	for _, p := range pairs {
		for _, i := range p.Passages[:min(len(p.Passages), maxPositives)] {
			out = append(out, train.Pair{Q: p.Q, P: set.Passages[i], Src: p.Src})
		}
	}
	return out
}

func hash(seed uint64, name string) uint64 {
	sum := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), name...))
	return binary.LittleEndian.Uint64(sum[:])
}

// Set is the training data of a repository.
type Set struct {
	// Passages holds all texts that a search could find. None contains the Q of a pair
	// that it belongs to.
	Passages []string
	Pairs    []Pair
}

// Pair is a text and the passages that a search for it should find.
type Pair struct {
	Q        string
	Passages []int    // indexes into Set.Passages, at least one
	Src      string   // where it comes from: heading, comment, commit, …
	File     string   // a path, or "git:" and a commit; pairs are held out by file
	Touches  []string // other files that the pair is about; may be nil
	// Weak pairs are trained with and reported, but don't affect Report.Wins, because
	// no user asks like that, for example with the words of a path.
	Weak bool
}

// Sources returns the number of pairs of each source.
func (s *Set) Sources() map[string]int {
	n := map[string]int{}
	for _, p := range s.Pairs {
		n[p.Src]++
	}
	return n
}
