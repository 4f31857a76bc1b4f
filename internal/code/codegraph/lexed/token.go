package lexed

// kind is what a token is.
type kind uint8

const (
	word kind = iota + 1
	number
	text  // a string, a piece of a template, a regular expression, text between tags
	punct // an operator or a bracket
)

// op is a punctuation mark: its character, or one of these.
type op uint8

const (
	opArrow    op = iota + 128 // =>
	opThin                     // ->
	opPath                     // ::
	opOptional                 // ?.
	opSpread                   // ...
	opRange                    // ..
	opLogic                    // && || ??
	opCompare                  // == != <= >= === !==
	opAssign                   // += and its like
	opWalrus                   // :=
	opStep                     // ++ --
)

// token is a piece of source that means something. Brackets know their partner: an
// opening one has in match the last token of what it holds, itself included; a
// closing one that closes nothing has -1.
type token struct {
	kind       kind
	op         op
	indent     int32 // columns before it, if it is the first on its line; else -1
	start, end int32 // bytes
	line       int32
	match      int32
}

func (t token) first() bool { return t.indent >= 0 }

// comment stands before a token.
type comment struct {
	start, end    int32
	line, endLine int32
	tok           int32 // the token after it
	own           bool  // nothing stands before it on its line
}

// directive is a line for the preprocessor.
type directive struct {
	name string
	rest string
	line int32
	tok  int32 // the token after it
	note int   // the comment before it on lines of its own, or -1
}

func opens(o op) bool  { return o == '(' || o == '[' || o == '{' }
func closes(o op) bool { return o == ')' || o == ']' || o == '}' }

func partner(o op) op {
	switch o {
	case '(':
		return ')'
	case '[':
		return ']'
	case '{':
		return '}'
	}
	return 0
}

// punctuation returns the mark at the head of s, and its length.
func punctuation(s string) (op, int) {
	if len(s) > 2 {
		switch s[:3] {
		case "...":
			return opSpread, 3
		case "===", "!==":
			return opCompare, 3
		case "**=", "??=", "&&=", "||=", "//=":
			return opAssign, 3
		}
	}
	if len(s) > 1 {
		switch s[:2] {
		case "=>":
			return opArrow, 2
		case "->":
			return opThin, 2
		case "::":
			return opPath, 2
		case "?.":
			if len(s) == 2 || s[2] < '0' || s[2] > '9' {
				return opOptional, 2
			}
		case "..":
			return opRange, 2
		case "&&", "||", "??":
			return opLogic, 2
		case "==", "!=", "<=":
			return opCompare, 2
		case ">=":
			if len(s) < 3 || s[2] != '=' { // a list of types may end right before an "=="
				return opCompare, 2
			}
		case "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=":
			return opAssign, 2
		case ":=":
			return opWalrus, 2
		case "++", "--":
			return opStep, 2
		}
	}
	return op(s[0]), 1
}
