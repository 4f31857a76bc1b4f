package codegraph

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// nameIndex lists the nodes with one bare name in one family of languages.
type nameIndex struct {
	top     []int32  // what other files can use by the bare name; at most two
	members []member // methods and properties; at most maxMembers+1
}

type member struct {
	node  int32
	owner sym // bare name of its type; 0 if unknown
}

type memoKey struct {
	name  sym
	fam   uint8
	tests bool
}

const (
	maxMembers = 32 // a member with more owners than these is not resolved
	maxGuesses = 3  // most edges of one ambiguous use
)

// namesOf returns the index of a bare name. Nodes that only tests declare are visible only to files with tests.
func (r *resolver) namesOf(x sym) *nameIndex {
	key := memoKey{x, r.u.fam, r.u.has(forTests)}
	if b := r.memo[key]; b != nil {
		return b
	}
	b := &nameIndex{}
	var internal []int32 // types of C# that every namespace can use
	for i, n := range r.v.byName(x) {
		if n.flags&inRepo == 0 || n.fam != key.fam || n.flags&testOnly != 0 && !key.tests {
			continue
		}
		switch n.kind {
		case kMethod, kProperty:
			if len(b.members) <= maxMembers {
				owner, _ := r.v.names.findOwned(lastPart(ownerOf(r.v.text(n.qual))))
				b.members = append(b.members, member{i, owner})
			}
		case kType, kInterface, kFunction, kVariable:
			if len(b.top) < 2 && n.flags&exported != 0 {
				b.top = append(b.top, i)
			}
			if n.flags&exported == 0 && n.kind != kFunction && n.kind != kVariable && r.v.fams[key.fam] == "csharp" && r.lookup(ownerOf(r.v.text(n.qual)), eInherits) < 0 {
				internal = append(internal, i)
			}
		}
		if len(b.members) > maxMembers && len(b.top) == 2 {
			break
		}
	}
	if len(b.top) == 0 {
		b.top = internal[:min(len(internal), 2)]
	}
	r.memo[key] = b
	return b
}

// member resolves ".Total": to the only method or property of that name, or to the few whose owners the file names. For
// the name of a common library method, the owner must be named or imported even if there is only one.
func (r *resolver) member(x use) []int32 {
	all := r.namesOf(x.name).members
	if len(all) > maxMembers {
		return nil
	}
	kept := make([]member, 0, len(all))
	if x.meta.kind() == eCalls {
		for _, m := range all {
			if r.v.nodes.at(m.node).kind == kMethod {
				kept = append(kept, m)
			}
		}
	}
	if len(kept) == 0 {
		kept = append(kept, all...)
	}
	if len(kept) == 1 && (!commonMembers[strings.ToLower(r.v.text(x.name))] || r.names(kept[0]) || r.imported(kept[0].node)) {
		return []int32{kept[0].node}
	}
	kept = slices.DeleteFunc(kept, func(m member) bool { return !r.names(m) })
	if len(kept) > maxGuesses {
		return nil
	}
	out := make([]int32, len(kept))
	for i, m := range kept {
		out[i] = m.node
	}
	return out
}

// names reports whether the unit mentions the owner of a member.
func (r *resolver) names(m member) bool {
	if r.named == nil {
		r.named = map[sym]bool{}
		for i := range r.u.uses {
			if x := r.u.uses[i]; x.meta&useMember == 0 {
				r.named[r.v.names.last[x.name]] = true
			}
		}
		for i := range r.u.decls {
			if d := &r.u.decls[i]; d.kind != noKind && !d.kind.member() {
				r.named[r.v.names.last[d.qual]] = true
			}
		}
	}
	return m.owner != 0 && r.named[m.owner]
}

// imported reports whether the qualified name of a node begins with a scope of the unit or with one of its imports.
func (r *resolver) imported(i int32) bool {
	q := r.v.text(r.v.nodes.at(i).qual)
	below := func(x sym) bool {
		rest, ok := strings.CutPrefix(q, r.v.text(x))
		return ok && x != 0 && strings.HasPrefix(rest, ".")
	}
	if below(r.u.within.qual) || slices.ContainsFunc(r.u.scopes, below) {
		return true
	}
	return slices.ContainsFunc(r.u.imports, func(im imp) bool { return im.target.kind != kFile && below(im.target.qual) })
}

// bySuffix finds the only node whose qualified name is q behind the name of a folder that is not a package, such as src.
// It is not used for Go, where import paths are complete. q need not occur in the graph, so that the result does not
// depend on that.
func (r *resolver) bySuffix(q string, k edgeNo) int32 {
	if r.v.fams[r.u.fam] == "go" || lastPart(q) == q {
		return -1
	}
	found := int32(-1)
	for _, i := range r.suffixNodes(q) {
		if rank(k, r.v.nodes.at(i).kind) < 0 {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// suffixKey is the end of a qualified name, in one family of languages.
type suffixKey struct {
	text string
	fam  uint8
}

// suffixEntry holds the nodes whose qualified name ends with a suffix. exists is set if the repository has any such
// name, including those behind the name of a package.
type suffixEntry struct {
	nodes  []int32
	exists bool
}

// suffixNodes returns the nodes of the unit's family whose qualified name ends with q, if the part before q is not the
// name of a package.
func (r *resolver) suffixNodes(q string) []int32 {
	key := suffixKey{q, r.u.fam}
	e := r.suffixes[key]
	if e == nil {
		e = &suffixEntry{}
		last, _ := r.v.names.findOwned(lastPart(q))
		for i, n := range r.v.byName(last) {
			root, ok := strings.CutSuffix(r.v.text(n.qual), "."+q)
			if n.flags&inRepo == 0 || n.fam != key.fam || n.kind == kFile || !ok || root == "" {
				continue
			}
			e.exists = true
			if !r.space(root) {
				e.nodes = append(e.nodes, i)
			}
		}
		r.suffixes[key] = e
	}
	r.usesSuffixes = r.usesSuffixes || e.exists
	return e.nodes
}

// space reports whether a name is that of a package or namespace in the repository.
func (r *resolver) space(q string) bool {
	x, ok := r.v.names.findOwned(q)
	for _, n := range r.v.byQual(x) {
		if ok && n.kind.isScope() && n.flags&inRepo != 0 {
			return true
		}
	}
	return false
}

// commonMembers are methods and fields found in most standard libraries, in lower case.
var commonMembers = analysis.Set(`add all any append apply at begin bind call cancel catch clear clone close code collect commit
	compare concat contains copy count create data delete done each emit empty encode decode end entries equals err error exec
	execute exists exit extend fail filter finally find first flush foreach format get getitem group has hash hashcode head header
	id index indexof info init insert int is items iter iterator join key keys kind last len length line list load lock log map
	match max message min name names new next node now off on open parse path peek ping pop print push put query range read readline
	ready reason receive remove render replace request reset resolve response result reverse run save scan search seek select send
	set setup shift size sleep slice sort split start state status stop stream string strip sub submit substring sum take test text
	then time title to tojson tostring trim type unlock unwrap update url use value values version wait walk warn with write`)
