package decision

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/store/clean"
)

// Value is a text with the number of its line, from 1. The zero value means not found.
type Value struct {
	Text string
	Line int
}

// Found reports whether the record has the value.
func (v Value) Found() bool { return v.Line > 0 }

// NoNumber is the number of a record without one. 0 is a valid number, often the first one.
const NoNumber = -1

// Record is the content of one file. Texts keep their markup, but have no comments or surrounding white space. The
// caller owns the Record, but must not change its slices if it came from a Registry.
type Record struct {
	Path     string    // from the root, with slashes
	Hash     string    // of the content: "sha256:" and hex
	ModTime  time.Time // of the file; zero for a Record from Parse
	Archived bool      // it is in a folder named archive

	// Handle identifies the record in a Registry. It is the ID or, if other records have the same ID, the ID, a slash
	// and the rest of the file's name.
	Handle string

	ID     Value // "ADR-0042", from front matter, file name or title; the file's name if none has a number
	Number int   // 42; NoNumber for none
	Title  Value // without its number

	Status     Status
	StatusText Value // as written
	Date       time.Time
	DateText   Value

	Deciders, Consulted, Informed []Value
	Tags                          []Value
	Governs                       []Value // what the record lists as governed: symbols, paths, globs

	Preamble     Value // text between the title and the first section, without fields
	Context      Value
	Drivers      []Value
	Options      []Option // considered options, including the chosen one
	Decision     Value
	Consequences Value
	Confirmation Value
	More         Value // more information, references, notes

	Supersedes   []Reference
	SupersededBy []Reference
	Links        []Link // all links and mentions of records, in order

	Sections []Section // all sections, in order
	Extra    []Entry   // fields without a meaning here, in order
}

// Option is a considered alternative.
type Option struct {
	Title   Value
	Text    string
	Pros    []Value
	Cons    []Value
	Neutral []Value
	Chosen  bool // it is the chosen option
}

// Reference is a place where a record names another one.
type Reference struct {
	Text    string // as written
	ID      string // "ADR-0042" if the text contains it; may be empty
	Path    string // path of the linked file from the root; may be empty
	Line    int
	Partial bool // only a part of the record is meant: "supersedes the second half of …"
}

// Link is a link, or a mention of a record by its number.
type Link struct {
	Text   string // text of the link, or the mention
	Target string // as written; empty for a mention
	ID     string // of the record, if it leads to one
	Line   int
}

// Section is a heading with the text below it, up to the next heading of any level.
type Section struct {
	Title string // without its number
	Kind  Kind   // empty if unknown
	Level int    // 1 to 6
	Line  int    // of the heading
	End   int    // last line, including deeper headings
	Text  Value  // with the line of its first word
}

// Entry is a field in the front matter or in the lines below the title.
type Entry struct {
	Key   string // as written
	Value Value  // lists on one line, joined by commas
}

// Problem is something in a file that needs attention. The file is not changed, and the rest of it is read.
type Problem struct {
	Path string
	Line int    // from 1; 0 for the whole file
	Text string // what is wrong, in lower case, without a full stop
	Try  string // what to do about it, as a sentence
}

const (
	// KeyPrefix is the prefix of the key of a decision's claim. The record's path follows.
	KeyPrefix = "decision:"
	// SourceType is the source type of a decision's claim.
	SourceType = "decision"

	maxClaimText  = 2400 // characters; the length of two chunks of a file
	maxDecision   = 1200
	maxEntities   = 32
	maxClaimTitle = 200
	importance    = 0.7 // above that of other documents, because it says what is in force and why
)

// Claim turns a record into a claim. It is computed from the file and never goes to the log. Its text is the decision,
// then the context, the consequences and the names of the options that were not chosen, shortened to 2,400 characters.
// Its entities are what the record governs: first the listed names, then names in its text. The id follows from the
// path, so a later version of the file is the same claim.
//
// Its only evidence is the file, with the hash of the content and the line of the decision. When the file changes, the
// evidence becomes invalid. A committed file makes the claim Inferred, whatever the record says. Nobody has checked it,
// and anyone who can write the file can write "accepted" into it; so its trust is that of an agent. Deciders are not
// added as human assertions, because they never made these to Ken.
//
//	proposed, unknown → hypothesis: not recalled until it is accepted
//	accepted          → observed: the file says so; ken allows this step from a
//	                    hypothesis. Not verified: that needs a person's confirmation
//	superseded        → superseded
//	deprecated        → superseded, without a successor: it is not in force any more
//	rejected          → disputed: it was considered and refused. It was never in force,
//	                    so it can't be superseded, and it is not an open hypothesis
//
// The heading says if a decision is not in force. A claim without a text is an ErrInvalid.
func Claim(r Record) (ken.Claim, error) {
	e := ken.FromFile(r.Path, "", "")
	e.Line, e.ContentHash, e.Trust = max(1, r.Decision.Line), r.Hash, ken.TrustAgent
	at := r.Date
	if at.IsZero() {
		at = r.ModTime
	}
	body, err := json.Marshal(Body{Handle: r.Handle, Status: r.Status, Archived: r.Archived,
		StatusText: cleanText(analysis.Clip(stripMarkup(r.StatusText.Text), maxClaimTitle)), Deciders: cleaned(r.Deciders), Governs: cleaned(r.Governs),
		Supersedes: referenceIDs(r.Supersedes), SupersededBy: referenceIDs(r.SupersededBy)})
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
	c.Tags = cleaned(r.Tags)
	for _, t := range Targets(r) {
		if len(c.Entities) == maxEntities {
			break
		}
		c.Entities = append(c.Entities, t.Name)
	}
	return c, c.Validate()
}

// Body is the body of a decision's claim: data for programs in addition to the text.
type Body struct {
	Handle       string   `json:"handle"`
	Status       Status   `json:"status"`
	StatusText   string   `json:"status_text,omitempty"`
	Deciders     []string `json:"deciders,omitempty"`
	Governs      []string `json:"governs,omitempty"` // listed by the record; without guesses
	Supersedes   []string `json:"supersedes,omitempty"`
	SupersededBy []string `json:"superseded_by,omitempty"`
	Archived     bool     `json:"archived,omitempty"`
}

func cleaned(values []Value) (out []string) {
	for _, v := range values {
		out = append(out, cleanText(v.Text))
	}
	return out
}

// referenceIDs returns the IDs of references to whole records.
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
		status = cmp.Or(status, "status unknown")
		if by := referenceIDs(r.SupersededBy); r.Status == Superseded && len(by) > 0 {
			status += " by " + strings.Join(by, ", ")
		}
		h += " (" + status + ")"
	}
	return cleanText(analysis.Clip(h, maxClaimTitle))
}

// claimText returns the text of a claim. The decision comes first, because it must remain if a block is shortened.
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
	return cleanText(b.String())
}

// cutText shortens a text to at most most characters, at the end of a line, a sentence or a word, and before a code
// block that would stay open.
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

// cleanText removes what must not appear in a prompt. These claims come from files, so no store cleans them.
func cleanText(s string) string {
	return strings.TrimSpace(clean.Text(s))
}

func claimID(path string) string {
	sum := sha256.Sum256([]byte(KeyPrefix + path))
	var u uuid.UUID
	copy(u[:], sum[:])
	u[6] = u[6]&0x0f | 0x80 // version 8: a custom format
	u[8] = u[8]&0x3f | 0x80
	return u.String()
}

var (
	isoDate   = lazyregexp.New(`\b(?:19|20)\d{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])`)
	dateLike  = []string{"2006/01/02", "2006/1/2", "2006.01.02", "02.01.2006", "2.1.2006", "January 2, 2006", "January 2 2006", "2 January 2006", "Jan 2, 2006", "2 Jan 2006", "02 Jan 2006"}
	slashDate = lazyregexp.New(`^(\d{1,2})/(\d{1,2})/(\d{4})$`)
)

// setDate parses a date. A text without one is kept as DateText.
func (d *document) setDate(v Value) {
	previous := d.Date // in brackets after the status
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
	d.Date = previous
}

// slashed parses dates such as 25/12/2024 and 12/25/2024. A date such as 07/11/2024 is ambiguous.
func (d *document) slashed(m []string) {
	for _, form := range []string{"2/1/2006", "1/2/2006"} {
		t, err := time.Parse(form, m[0])
		if err != nil {
			continue
		}
		if !d.Date.IsZero() && !d.Date.Equal(t) {
			d.Date = time.Time{}
			d.problem(d.DateText.Line, "the date "+m[0]+" is ambiguous", "Write it as 2026-11-22.")
			return
		}
		d.Date = t
	}
}
