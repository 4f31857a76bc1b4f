package decision

import "time"

// Value is a text with the line on which it stands, from 1. The zero value is one that
// was not found.
type Value struct {
	Text string
	Line int
}

// Found reports whether the record says it.
func (v Value) Found() bool { return v.Line > 0 }

// NoNumber is the number of a record without one; 0 is one, and often the first.
const NoNumber = -1

// Record is what one file says. Texts are as they stand, with their markup, without
// comments and without the white space around them. A Record belongs to whoever has it,
// except for its slices, which must not be changed when it came from a Registry.
type Record struct {
	Path     string    // from the root, with slashes
	Hash     string    // of the content: "sha256:" and hex
	ModTime  time.Time // of the file; zero when it came from Parse
	Archived bool      // it lies in a folder named archive

	// Handle is the ID, or the ID, a slash and the rest of the file's name where others
	// have the same ID. A Registry finds a record by it, always the same one.
	Handle string

	ID     Value // "ADR-0042", from the front matter, the file's name or the title; the file's name where none has a number
	Number int   // 42; NoNumber for none
	Title  Value // without its number

	Status     Status
	StatusText Value // as it is written
	Date       time.Time
	DateText   Value

	Deciders, Consulted, Informed []Value
	Tags                          []Value
	Governs                       []Value // what it says that it governs: symbols, paths, globs

	Preamble     Value // what stands between the title and the first section, but for fields
	Context      Value
	Drivers      []Value
	Options      []Option // considered, the chosen one among them
	Decision     Value
	Consequences Value
	Confirmation Value
	More         Value // more information, references, notes

	Supersedes   []Reference
	SupersededBy []Reference
	Links        []Link // every link and every mention of a record, in their order

	Sections []Section // all of them, in their order
	Extra    []Entry   // fields that have no meaning here, in their order
}

// Option is an alternative that was considered.
type Option struct {
	Title   Value
	Text    string
	Pros    []Value
	Cons    []Value
	Neutral []Value
	Chosen  bool // the decision names it
}

// Reference is where a record names another one.
type Reference struct {
	Text    string // as it is written
	ID      string // "ADR-0042", as far as the text says; may be empty
	Path    string // of the file that a link leads to, from the root; may be empty
	Line    int
	Partial bool // only a part of it is meant: "supersedes the second half of …"
}

// Link is a link, or the mention of a record by its number.
type Link struct {
	Text   string // what stands in its brackets, or the mention
	Target string // as it is written; empty for a mention
	ID     string // of the record that is meant, when it is one
	Line   int
}

// Section is a heading with what stands below it, up to the next heading of any level.
type Section struct {
	Title string // without its number
	Kind  Kind   // what it holds; empty when that is not known
	Level int    // 1 to 6
	Line  int    // of the heading
	End   int    // the last line, with what stands below deeper headings
	Text  Value  // with the line of its first words
}

// Entry is a field of the front matter, or of the lines below the title.
type Entry struct {
	Key   string // as it is written
	Value Value  // lists in one line, joined by commas
}

// Problem is something in a file that somebody should look at. The file was left as it
// is, and what else it says was read.
type Problem struct {
	Path string
	Line int    // from 1; 0 for the whole file
	Text string // what is wrong, lower case, without a stop
	Try  string // what to do about it, a sentence
}
