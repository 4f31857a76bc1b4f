package draw

// Words are what a picture calls what is counted at a node, one of each: an s makes
// them many.
type Words struct {
	Record     string // entity.Node.Records
	Constraint string // entity.Node.Constraints
	Badge      string // the same, where there is room for a few letters
}

func wordsFor(change []func(*Words)) Words {
	w := Words{Record: "record", Constraint: "constraint", Badge: "rule"}
	for _, f := range change {
		f(&w)
	}
	return w
}
