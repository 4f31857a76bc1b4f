package decision

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

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

const (
	// KeyPrefix is what the key of a decision's claim starts with; the record's path
	// follows.
	KeyPrefix = "decision:"
	// SourceType is that of a decision's claim.
	SourceType = "decision"

	maxClaimText  = 2400 // characters: two pieces of a file
	maxDecision   = 1200
	maxEntities   = 32
	maxClaimTitle = 200
	importance    = 0.7 // above a document: it says what holds, and why
)

// Claim returns what a record decides as a claim: a projection of the file, which never
// goes to the log. Its text is the decision, then the context, the consequences and the
// names of the options that were not chosen, shortened to 2,400 characters; its entities
// are what it governs, what it lists before what its text names. The id follows from the
// path, so that a later version of the file is the same claim.
//
// The file alone is its evidence, with the hash of the content and the line of the
// decision: when the file changes, the evidence stands no more. A committed file makes it
// Inferred, whatever it says: nobody's check stands behind it, and any hand or tool that
// can write the file can write "accepted" into it; so its trust is an agent's. Adding the deciders as human assertions
// would forge what they never told the layer.
//
//	proposed, unknown → hypothesis: not recalled until it is accepted
//	accepted          → observed: the file says so; the step from a hypothesis that ken
//	                    allows. Not verified: that is a person's confirmation
//	superseded        → superseded
//	deprecated        → superseded, by nothing: what held does not hold any more
//	rejected          → disputed: it was weighed, and somebody said no. It never held, so
//	                    it can't be superseded, and it is no open hypothesis either
//
// What is not in force says so in its heading. A claim without a text is an ErrInvalid.
func Claim(r Record) (ken.Claim, error) {
	e := ken.FromFile(r.Path, "", "")
	e.Line, e.ContentHash, e.Trust = max(1, r.Decision.Line), r.Hash, ken.TrustAgent
	at := r.Date
	if at.IsZero() {
		at = r.ModTime
	}
	body, err := json.Marshal(bodyOf(r))
	if err != nil {
		return ken.Claim{}, err
	}
	c := ken.Claim{ID: claimID(r.Path), Key: KeyPrefix + r.Path, Kind: ken.KindDecision, Heading: headline(r), Text: claimText(r), Body: body,
		Evidence: []ken.Evidence{e}, Status: claimStatus(r.Status), Confidence: 1, Importance: importance,
		Actor: ken.Actor{Type: "system", ID: "repository"}, Source: r.Path + ":" + strconv.Itoa(e.Line), SourceType: SourceType,
		CreatedAt: at, UpdatedAt: r.ModTime}
	if r.Archived {
		c.ArchivedAt = r.ModTime
	}
	for _, t := range r.Tags {
		c.Tags = append(c.Tags, clean(t.Text))
	}
	for _, t := range Targets(r) {
		if len(c.Entities) == maxEntities {
			break
		}
		c.Entities = append(c.Entities, t.Name)
	}
	return c, c.Validate()
}

// Body is the body of a decision's claim: what a program asks for beside its text.
type Body struct {
	Handle       string   `json:"handle"`
	Status       Status   `json:"status"`
	StatusText   string   `json:"status_text,omitempty"`
	Deciders     []string `json:"deciders,omitempty"`
	Governs      []string `json:"governs,omitempty"` // what the record lists; guesses are not among them
	Supersedes   []string `json:"supersedes,omitempty"`
	SupersededBy []string `json:"superseded_by,omitempty"`
	Archived     bool     `json:"archived,omitempty"`
}

func bodyOf(r Record) Body {
	b := Body{Handle: r.Handle, Status: r.Status, StatusText: clean(shorten(stripMarkup(r.StatusText.Text), maxClaimTitle)), Archived: r.Archived,
		Supersedes: referenceIDs(r.Supersedes), SupersededBy: referenceIDs(r.SupersededBy)}
	for _, d := range r.Deciders {
		b.Deciders = append(b.Deciders, clean(d.Text))
	}
	for _, g := range r.Governs {
		b.Governs = append(b.Governs, clean(g.Text))
	}
	return b
}

// referenceIDs are those of references to whole records.
func referenceIDs(refs []Reference) (out []string) {
	for _, r := range refs {
		if !r.Partial && r.ID != "" {
			out = append(out, r.ID)
		}
	}
	return out
}

func claimStatus(s Status) ken.Status {
	switch s {
	case Accepted:
		return ken.StatusObserved
	case Superseded, Deprecated:
		return ken.StatusSuperseded
	case Rejected:
		return ken.StatusDisputed
	}
	return ken.StatusHypothesis
}

func headline(r Record) string {
	h := r.Handle
	if title := stripMarkup(r.Title.Text); title != "" {
		h += " " + title
	}
	if r.Status != Accepted {
		status := string(r.Status)
		if status == "" {
			status = "status unknown"
		}
		if by := referenceIDs(r.SupersededBy); r.Status == Superseded && len(by) > 0 {
			status += " by " + strings.Join(by, ", ")
		}
		h += " (" + status + ")"
	}
	return clean(shorten(h, maxClaimTitle))
}

// claimText is the decision first: it must survive when a block is short of room.
func claimText(r Record) string {
	var b strings.Builder
	left := maxClaimText
	add := func(label, text string, most int) {
		text = strings.TrimSpace(text)
		most = min(most, left-len(label)-2)
		if text == "" || most < 40 {
			return
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		text = cutText(text, most)
		b.WriteString(label + text)
		left -= utf8.RuneCountInString(text) + len(label) + 2
	}
	add("Decision: ", r.Decision.Text, maxDecision)
	if b.Len() == 0 {
		add("", r.Preamble.Text, maxDecision)
	}
	add("Context: ", r.Context.Text, left/2)
	var not []string
	for _, o := range r.Options {
		if !o.Chosen {
			not = append(not, o.Title.Text)
		}
	}
	add("Consequences: ", r.Consequences.Text, left-min(left/3, 20*len(not)))
	add("Also considered: ", strings.Join(not, "; "), left)
	if b.Len() == 0 {
		add("", stripMarkup(r.Title.Text), left)
	}
	return clean(b.String())
}

// cutText shortens a text to at most so many characters, at the end of a line, a sentence
// or a word, and before a block of code that would stay open.
func cutText(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	s = string([]rune(s)[:most-1])
	for _, end := range []string{"\n", ". ", " "} {
		if at := strings.LastIndex(s, end); at > len(s)/2 {
			s = s[:at+len(strings.TrimRight(end, " \n"))]
			break
		}
	}
	var code fence
	at, open := 0, 0
	for l := range strings.Lines(s) {
		was := code.run
		if code.step(strings.TrimRight(l, "\n")); was == 0 && code.run > 0 {
			open = at
		}
		at += len(l)
	}
	if code.run > 0 {
		s = s[:open]
	}
	return strings.TrimSpace(s) + "…"
}

// clean takes out what must not come back in a prompt: a projection of files passes no
// store's cleaning.
func clean(s string) string {
	s, _ = guardrail.Redact(guardrail.StripReasoning(guardrail.Sanitize(s)))
	return strings.TrimSpace(s)
}

func claimID(path string) string {
	sum := sha256.Sum256([]byte(KeyPrefix + path))
	var u uuid.UUID
	copy(u[:], sum[:])
	u[6] = u[6]&0x0f | 0x80 // version 8: made by a rule of our own
	u[8] = u[8]&0x3f | 0x80
	return u.String()
}

var (
	isoDate   = lazyregexp.New(`\b(?:19|20)\d{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])`)
	dateLike  = []string{"2006/01/02", "2006/1/2", "2006.01.02", "02.01.2006", "2.1.2006", "January 2, 2006", "January 2 2006", "2 January 2006", "Jan 2, 2006", "2 Jan 2006", "02 Jan 2006"}
	slashDate = lazyregexp.New(`^(\d{1,2})/(\d{1,2})/(\d{4})$`)
)

// setDate reads a date; a text that has none is kept.
func (d *document) setDate(v Value) {
	said := d.Date // in brackets behind the status
	d.DateText, d.Date = v, time.Time{}
	text := stripMarkup(v.Text)
	if m := isoDate.FindString(text); m != "" {
		d.Date, _ = time.Parse(time.DateOnly, m)
		return
	}
	if m := slashDate.FindStringSubmatch(text); m != nil {
		d.slashed(m)
		return
	}
	for _, form := range dateLike {
		if t, err := time.Parse(form, text); err == nil {
			d.Date = t
			return
		}
	}
	d.Date = said
}

// slashed reads 25/12/2024 and 12/25/2024. Of 07/11/2024 nobody knows which it is.
func (d *document) slashed(m []string) {
	for _, form := range []string{"2/1/2006", "1/2/2006"} {
		t, err := time.Parse(form, m[0])
		if err != nil {
			continue
		}
		if !d.Date.IsZero() && !d.Date.Equal(t) {
			d.Date = time.Time{}
			d.problem(d.DateText.Line, "the date "+m[0]+" has two readings", "Write it as 2026-11-22.")
			return
		}
		d.Date = t
	}
}
