package codegraph

// unit is what one file says, or one decision, and the edges that follow from it. One
// that is published does not change: a change makes another.
type unit struct {
	path    sym
	hash    string
	lang    sym
	fam     uint8 // number of the language's family
	flags   unitFlags
	within  ref
	scopes  []sym
	decls   []decl
	imports []imp
	uses    []use
	text    string // the signatures and comments of all decls
	probs   []Problem

	keys     []uint32 // hashes of further names that its edges depend on
	refined  []refined
	decision *Decision // nil for a file
	stat     stat

	// What the graph made of it.
	node  int32   // of the file, or the decision
	home  int32   // of within; -1 for none
	nodes []int32 // of decls; -1 for what is left out
	edges []edge  // by from, to and kind
	extra []int32 // nodes with edges here that are not declared here

	via     []uint32 // as keys, of the types in which members were looked for
	nowhere []string // targets of the decision that lead nowhere
}

type unitFlags uint8

const (
	generated unitFlags = 1 << iota
	forTests
	headOnly // too large, or generated: only its imports count
	loose    // some name of it was looked for as the end of a longer one
	folders  // a decision that names a folder
)

func (u *unit) has(f unitFlags) bool { return u.flags&f != 0 }

// ref is an ID.
type ref struct {
	kind kindNo
	qual sym
}

type decl struct {
	name, qual sym
	parent     int32 // in unit.decls; -1 for none
	line, end  int32
	text       uint32 // where its signature begins in unit.text; the comment follows
	sig, doc   uint8  // bytes
	kind       kindNo // noKind for one that is left out
	exported   bool
}

type imp struct {
	path   sym // as it is written
	target ref
	line   int32
}

// use is one name used by one declaration in one way, at its first line.
type use struct {
	from int32 // in unit.decls; -1 for the file
	name sym   // without the dot of a member
	meta useMeta
}

// useMeta is the line, how the name is meant, and the kind of the edge.
type useMeta uint32

const (
	useQualified useMeta = 1 << 4
	useMember    useMeta = 1 << 5
	useBits              = 6
	maxLine              = 1<<26 - 1
)

func (m useMeta) line() int32  { return int32(m >> useBits) }
func (m useMeta) kind() edgeNo { return edgeNo(m & 15) }

// edge goes from a node to another, because of what its unit says.
type edge struct {
	from, to int32
	meta     edgeMeta
}

// edgeMeta is the line, and whether the edge is a guess: the smaller of two of one
// kind is the better one.
type edgeMeta uint32

const guessed edgeMeta = 1 << 31

func (m edgeMeta) kind() edgeNo { return edgeNo(m & 15) }
func (m edgeMeta) line() int32  { return int32(m &^ guessed >> 4) }

func (m edgeMeta) how() How {
	if m&guessed != 0 {
		return Guess
	}
	return Exact
}

func metaOf(k edgeNo, line int32, guess bool) edgeMeta {
	m := edgeMeta(min(max(line, 0), maxLine))<<4 | edgeMeta(k)
	if guess {
		m |= guessed
	}
	return m
}

// compareEdges orders by from, to and kind, the better of two of a kind first.
func compareEdges(a, b edge) int {
	switch {
	case a.from != b.from:
		return int(a.from) - int(b.from)
	case a.to != b.to:
		return int(a.to) - int(b.to)
	case a.meta.kind() != b.meta.kind():
		return int(a.meta.kind()) - int(b.meta.kind())
	case a.meta < b.meta:
		return -1
	case a.meta > b.meta:
		return 1
	}
	return 0
}

// refined is what one source says better of a unit.
type refined struct {
	source string
	kinds  edgeSet
	decls  []Decl // they follow the unit's own in unit.decls
	edges  []refinedEdge
}

type refinedEdge struct {
	from, to ref
	kind     edgeNo
	line     int32
}

// stat tells whether a file has to be read again.
type stat struct{ size, modTime, readAt int64 } // bytes; nanoseconds since 1970

// stem is a file's name up to its first dot that is not the first character: what
// files that stand for each other have in common.
func stem(path string) string {
	b := base(path)
	for i := 1; i < len(b); i++ {
		if b[i] == '.' {
			return b[:i]
		}
	}
	return b
}

func base(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
	return path
}

// folder is the path without its last element, and "" at the top.
func folder(path string) string {
	if b := base(path); len(b) < len(path) {
		return path[:len(path)-len(b)-1]
	}
	return ""
}

// hashName is FNV-1a: it says which names a unit depends on without keeping them.
func hashName(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}
