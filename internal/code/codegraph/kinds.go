package codegraph

// kindNo and edgeNo are kinds as they are kept; 0 is none.
type (
	kindNo uint8
	edgeNo uint8
)

const (
	noKind kindNo = iota
	kFile
	kPackage
	kNamespace
	kType
	kInterface
	kMethod
	kProperty
	kFunction
	kVariable
	kDecision
	kindCount
)

var kindNames = [kindCount]Kind{"", KindFile, KindPackage, KindNamespace, KindType, KindInterface, KindMethod, KindProperty, KindFunction, KindVariable, KindDecision}

func numberOfKind(k Kind) kindNo {
	for i := kFile; i < kindCount; i++ {
		if kindNames[i] == k {
			return i
		}
	}
	return noKind
}

// space reports whether a node of that kind is there for what is in it.
func (k kindNo) space() bool { return k == kPackage || k == kNamespace }

func (k kindNo) member() bool { return k == kMethod || k == kProperty }

const (
	noEdge edgeNo = iota
	eDefines
	eImports
	eInherits
	eImplements
	eReferences
	eCalls
	eTests
	eDependsOn
	eGoverns
	edgeCount
)

var edgeNames = [edgeCount]EdgeKind{"", Defines, Imports, Inherits, Implements, References, Calls, Tests, DependsOn, Governs}

func numberOfEdge(k EdgeKind) edgeNo {
	for i := eDefines; i < edgeCount; i++ {
		if edgeNames[i] == k {
			return i
		}
	}
	return noEdge
}

// edgeSet is some kinds of edges.
type edgeSet uint16

func (s edgeSet) has(k edgeNo) bool { return s&(1<<k) != 0 }

// setOf leaves out what is no kind of edge; nothing named is everything.
func setOf(kinds []EdgeKind) edgeSet {
	if len(kinds) == 0 {
		return 1<<edgeCount - 1
	}
	var s edgeSet
	for _, k := range kinds {
		if n := numberOfEdge(k); n != noEdge {
			s |= 1 << n
		}
	}
	return s
}

// prefer is, for a kind of edge, the kinds of nodes that it may lead to when only a
// name is known, the likeliest first.
var prefer = [edgeCount][]kindNo{
	eInherits:   {kType, kInterface},
	eImplements: {kInterface, kType},
	eReferences: {kType, kInterface, kVariable, kFunction, kProperty, kMethod, kNamespace, kPackage},
	eCalls:      {kFunction, kMethod, kType, kVariable, kProperty, kInterface},
	eTests:      {kFunction, kType, kMethod, kInterface, kVariable},
	eImports:    {kPackage, kNamespace, kType, kInterface, kFunction, kVariable, kMethod, kProperty},
	eGoverns:    {kType, kInterface, kFunction, kMethod, kVariable, kProperty, kPackage, kNamespace},
}

// rank is a kind's place among those that an edge prefers, and -1 when it leads to
// none of that kind.
func rank(e edgeNo, k kindNo) int {
	for i, p := range prefer[e] {
		if p == k {
			return i
		}
	}
	return -1
}
