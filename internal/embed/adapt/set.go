package adapt

// Set is what a repository has to learn from.
type Set struct {
	// Passages are all texts that a search could find, none of which holds the Q
	// of a pair that it belongs to.
	Passages []string
	Pairs    []Pair
}

// Pair is a text and the passages that a search for it should find.
type Pair struct {
	Q        string
	Passages []int    // indexes into Set.Passages, at least one
	Src      string   // where it was found: heading, comment, commit, …
	File     string   // a path, or "git:" and a commit: pairs are set aside by it
	Touches  []string // other files that the pair tells about; may be nil
	// Weak pairs are learned from and reported, but are no reason to prefer a
	// table: nobody asks like that, as with the words of a path.
	Weak bool
}

// Sources counts the pairs of each source.
func (s *Set) Sources() map[string]int {
	n := map[string]int{}
	for _, p := range s.Pairs {
		n[p.Src]++
	}
	return n
}
