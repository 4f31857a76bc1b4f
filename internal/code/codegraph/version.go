package codegraph

// versions are what a saved graph depends on beside the files: how it is written, and what
// is said of a file by the package that reads it. All of them are at the head of a saved
// graph, and Load takes none that has others: it would hold what nobody says any more
// for as long as the files don't change.
//
// Whoever changes what a package says of the same file raises its number here.
// TestVersions fails until then. An Extractor of somebody else's is not watched: who
// changes one builds the graph anew.
var versions = []version{
	{"format", 2}, // of the file
	{"codegraph", 3},
	{"codegraph/golang", 1},
	{"codegraph/lexed", 1},
	{"codegraph/scip", 1},
	{"codegraph/typed", 1},
}

type version struct {
	of string
	n  uint64
}
