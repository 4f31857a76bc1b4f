package decision

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
)

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
	b := Body{Handle: r.Handle, Status: r.Status, StatusText: clean(shorten(plain(r.StatusText.Text), maxClaimTitle)), Archived: r.Archived,
		Supersedes: ids(r.Supersedes), SupersededBy: ids(r.SupersededBy)}
	for _, d := range r.Deciders {
		b.Deciders = append(b.Deciders, clean(d.Text))
	}
	for _, g := range r.Governs {
		b.Governs = append(b.Governs, clean(g.Text))
	}
	return b
}

// ids are those of references to whole records.
func ids(refs []Reference) (out []string) {
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
	if title := plain(r.Title.Text); title != "" {
		h += " " + title
	}
	if r.Status != Accepted {
		status := string(r.Status)
		if status == "" {
			status = "status unknown"
		}
		if by := ids(r.SupersededBy); r.Status == Superseded && len(by) > 0 {
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
		add("", plain(r.Title.Text), left)
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
