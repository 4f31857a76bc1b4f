package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// maxDepth is how deep declarations may be nested in each other; what is deeper is left
// out.
const maxDepth = 100

// tokenFlag is what the readers of declarations tell the search for uses about a token.
type tokenFlag uint8

const (
	muted      tokenFlag = 1 << iota // no use: a declared name, a label, a part of an import
	typed                            // names a type
	container                        // a brace whose members are declarations
	annotation                       // names an annotation or an attribute
)

// reader reads one file: first the declarations by the language's own rules, then the
// names that they use.
type reader struct {
	set  *Set
	lang *language
	src  string
	file *codegraph.File

	toks     []token
	flags    []tokenFlag
	comments []comment
	dirs     []directive

	scope    string // what declared names begin with, without the last dot
	module   bool   // nothing outside is known by a bare name that is not imported
	places   []place
	declared map[string]int  // the first declaration of a qualified name
	names    map[string]name // what is imported, by the name it has in the file
	bindings []binding
	titles   []string // of tests that are no declarations
	own      []ownUse // uses that the headings of declarations say outright
	strings  map[string]string
}

// place is where in the tokens a declaration lies.
type place struct {
	first, last int32
	test        bool
	bases       []string // as they are written, for members that are inherited
}

// name is what an imported name stands for.
type name struct {
	qualified string // empty when it is of no interest
	module    bool   // its members are qualified by it
	loose     bool   // it may have another name where it is declared: look in the scopes
}

// ownUse is a use found with a declaration.
type ownUse struct {
	from  int
	kind  codegraph.EdgeKind
	first int // tokens of the path
	last  int
}

func (r *reader) text(i int) string {
	if i < 0 || i >= len(r.toks) {
		return ""
	}
	return r.src[r.toks[i].start:r.toks[i].end]
}

func (r *reader) is(i int, s string) bool { return r.kind(i) == word && r.text(i) == s }

func (r *reader) kind(i int) kind {
	if i < 0 || i >= len(r.toks) {
		return 0
	}
	return r.toks[i].kind
}

// op returns the mark at i, 0 where there is none.
func (r *reader) op(i int) op {
	if i < 0 || i >= len(r.toks) {
		return 0
	}
	return r.toks[i].op
}

// name reports whether the token is a word that may name something.
func (r *reader) name(i int) bool { return r.kind(i) == word && !r.lang.keywords[r.text(i)] }

// match returns the last token of what the bracket at i holds, at least i.
func (r *reader) match(i int) int {
	if i < 0 || i >= len(r.toks) {
		return i
	}
	return max(i, int(r.toks[i].match))
}

// skip goes to the token after i, and after what i opens.
func (r *reader) skip(i int) int {
	if opens(r.op(i)) {
		return r.match(i) + 1
	}
	return i + 1
}

func (r *reader) line(i int) int {
	if len(r.toks) == 0 {
		return 1
	}
	return int(r.toks[min(max(i, 0), len(r.toks)-1)].line)
}

// endLine is the line on which a token ends; a string may have many.
func (r *reader) endLine(i int) int {
	n := r.line(i)
	if r.kind(i) == text {
		n += strings.Count(r.text(i), "\n")
	}
	return n
}

// mute says that the tokens from i up to end name nothing that is used.
func (r *reader) mute(i, end int) {
	for ; i < end && i < len(r.flags); i++ {
		r.flags[i] |= muted
	}
}

func (r *reader) mark(i int, f tokenFlag) {
	if i >= 0 && i < len(r.flags) {
		r.flags[i] |= f
	}
}

// keep returns a copy of a piece of the source, the same one for the same text.
func (r *reader) keep(s string) string {
	if k, ok := r.strings[s]; ok {
		return k
	}
	k := strings.Clone(s)
	r.strings[k] = k
	return k
}

// join puts a dot between what is not empty.
func join(scope, name string) string {
	switch {
	case scope == "":
		return name
	case name == "":
		return scope
	}
	return scope + "." + name
}

func last(qualified string) string { return qualified[strings.LastIndexByte(qualified, '.')+1:] }

func (r *reader) problem(line int, s string) {
	if len(r.file.Problems) < maxProblems {
		r.file.Problems = append(r.file.Problems, codegraph.Problem{Line: line, Text: s})
	}
}

// maxProblems is how many are told of one file.
const maxProblems = 20

// angle returns the token that ends the list of types beginning with "<" at i, or -1
// if it is none. It looks at a bounded number of tokens.
func (r *reader) angle(i int) int {
	depth := 0
	for k, n := i, 0; k < len(r.toks) && n < 400; k, n = k+1, n+1 {
		switch r.op(k) {
		case '<':
			depth++
		case '>':
			if depth--; depth == 0 {
				return k
			}
		case opCompare:
			if r.text(k) != ">=" {
				return -1
			}
			if depth--; depth == 0 {
				return k
			}
		case '(', '[', '{':
			if r.op(k) == '{' && r.lang.family != script && r.lang.family != rust {
				return -1
			}
			k = r.match(k)
		case ')', ']', '}', ';', opAssign, opWalrus:
			return -1
		case opLogic:
			if r.lang.family != cfamily || r.text(k) != "&&" {
				return -1
			}
		}
	}
	return -1
}
