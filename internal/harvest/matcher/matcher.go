// Package matcher finds what repeats a claim that is being deleted.
package matcher

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/run/session"
)

// Claim finds texts that repeat a claim which is being deleted, or one of several. A text matches if it
// contains the claim's words, a quote of its evidence, a paraphrase that adds nothing, or an
// identifier of a person: an address with an @, or a number of at least seven digits. It does not
// find other paraphrases. It is safe for concurrent use.
type Claim struct {
	ids         []string // of the claims
	phrases     []string // folded
	identifiers []string // folded
	echo        *consolidate.Echo
	sources     map[[2]string]bool // session and message that the claim was drawn from
	sessions    []string           // sessions that match as a whole
	entities    []string           // entities under which the claim is filed, folded
	recipients  map[string]bool    // sessions whose model got the claim
	names       func(string) bool  // reports whether a text of a recipient has words only the claim had; may be nil
}

// minPhrase is the minimum length, in bytes, of a phrase that is searched for inside a text. A
// shorter one, such as "yes", must be the whole text.
const (
	minPhrase = 12
	minDigits = 7 // of a number that identifies somebody
)

// New returns a matcher for a claim. For an episode, every message of its
// session matches.
func New(c *ken.Claim) *Claim {
	t := &Claim{sources: map[[2]string]bool{}}
	t.add(c)
	if c.Kind == ken.KindEpisode && c.Session != "" {
		t.sessions = append(t.sessions, c.Session)
		t.echo = consolidate.NewEcho(nil) // an episode's sentences occur in many texts
		return t
	}
	t.findIdentifiers()
	t.echo = consolidate.NewEcho([]session.Injection{{ID: "it", Text: c.Text}})
	return t
}

// OfSession returns a matcher for the claims that a session taught. Every message of the session matches.
func OfSession(id string, claims []ken.Claim) *Claim {
	t := &Claim{sources: map[[2]string]bool{}, sessions: []string{id}}
	var texts []session.Injection
	for i := range claims {
		c := &claims[i]
		if c.Kind == ken.KindEpisode { // its sentences occur in many texts
			t.ids = append(t.ids, c.ID)
			continue
		}
		t.add(c)
		texts = append(texts, session.Injection{ID: c.ID, Text: c.Text})
	}
	t.findIdentifiers()
	t.echo = consolidate.NewEcho(texts)
	return t
}

// add adds a claim's id, phrases, entities and sources.
func (t *Claim) add(c *ken.Claim) {
	t.ids = append(t.ids, c.ID)
	add := func(s string) {
		if s = folded(s); s != "" && !slices.Contains(t.phrases, s) {
			t.phrases = append(t.phrases, s)
		}
	}
	add(c.Text)
	for _, e := range c.Entities {
		t.entities = append(t.entities, folded(e))
	}
	for _, e := range c.Evidence {
		if e.Kind != ken.EvidenceMessage && e.Kind != ken.EvidenceUserStatement {
			continue
		}
		add(e.Detail)
		if e.SessionID != "" && e.MessageID != "" && c.Kind != ken.KindEpisode {
			t.sources[[2]string{e.SessionID, e.MessageID}] = true
		}
	}
}

// findIdentifiers takes the identifiers out of the phrases.
func (t *Claim) findIdentifiers() {
	for w := range strings.FieldsSeq(strings.Join(t.phrases, " ")) {
		if w = strings.TrimFunc(w, func(r rune) bool { return unicode.IsPunct(r) && r != '@' }); identifies(w) {
			t.identifiers = append(t.identifiers, w)
		}
	}
}

// SetRecipients sets the sessions whose model got the claim. In these, a text also matches if names
// reports that it has words only the claim had, such as the claim's number in a call. Call it
// before the matcher is used.
func (t *Claim) SetRecipients(sessions []string, names func(string) bool) {
	t.recipients, t.names = map[string]bool{}, names
	for _, id := range sessions {
		t.recipients[id] = true
	}
}

// Recipients returns the sessions whose model got the claim.
func (t *Claim) Recipients() []string { return slices.Collect(maps.Keys(t.recipients)) }

// IsRecipient reports whether the session's model got the claim.
func (t *Claim) IsRecipient(session string) bool { return t.recipients[session] }

// matchIn returns the function that matches texts of the session.
func (t *Claim) matchIn(session string) func(string) bool {
	if t.names == nil || !t.recipients[session] {
		return t.MatchText
	}
	return func(text string) bool { return t.names(text) || t.MatchText(text) }
}

// MatchAny reports whether a text of an unknown session matches, such as the receipt of a turn.
func (t *Claim) MatchAny(text string) bool {
	return t.names != nil && t.names(text) || t.MatchText(text)
}

// dated matches a date, which is not an identifier.
var dated = lazyregexp.New(`^\d{4}[-/.]\d\d[-/.]\d\d`)

// identifies reports whether a word identifies one person or thing.
func identifies(w string) bool {
	digits := 0
	for _, r := range w {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	return digits >= minDigits && !dated.MatchString(w) || strings.Contains(strings.Trim(w, "@"), "@")
}

// MatchText reports whether a text repeats the claim.
func (t *Claim) MatchText(text string) bool {
	return t.quotes(text) || slices.ContainsFunc(Sentences(text), func(s string) bool { _, again := t.echo.Repeats(s); return again })
}

// quotes reports whether a text has a phrase or an identifier of the claim.
func (t *Claim) quotes(text string) bool {
	whole := folded(text)
	for _, p := range t.phrases {
		if whole == p || len(p) >= minPhrase && strings.Contains(whole, p) {
			return true
		}
	}
	return slices.ContainsFunc(t.identifiers, func(s string) bool { return strings.Contains(whole, s) })
}

// MatchMessage reports whether a message repeats the claim or is its source.
func (t *Claim) MatchMessage(id string, e *session.Entry) bool {
	return t.message(id, e, t.matchIn(id))
}

// MatchStatement is MatchMessage without the words set by SetRecipients.
func (t *Claim) MatchStatement(id string, e *session.Entry) bool {
	return t.message(id, e, t.MatchText)
}

func (t *Claim) message(id string, e *session.Entry, in func(string) bool) bool {
	if slices.Contains(t.sessions, id) || t.sources[[2]string{id, e.ID()}] || in(e.Message.Text) {
		return true
	}
	return slices.ContainsFunc(e.Message.ToolCalls, func(c ken.ToolCall) bool { return inJSON([]byte(c.Arguments), in) })
}

// MatchClaim reports whether another claim repeats this one in any of its fields. A heading or an
// entity that only names what this claim is about doesn't repeat it.
func (t *Claim) MatchClaim(c *ken.Claim) bool {
	texts := []string{c.Text}
	for _, e := range c.Evidence {
		texts = append(texts, e.Detail)
	}
	in := t.matchIn(c.Session)
	label := func(s string) bool {
		return t.quotes(s) || in(s) && (strings.ContainsFunc(s, unicode.IsDigit) || t.names != nil && t.names(s))
	}
	return slices.ContainsFunc(texts, in) || label(c.Heading) || slices.ContainsFunc(c.Entities, label) || inJSON(c.Body, in)
}

// inJSON reports whether in returns true for any string in a JSON value.
func inJSON(raw []byte, in func(string) bool) bool {
	var v any
	if len(raw) == 0 {
		return false
	}
	if json.Unmarshal(raw, &v) != nil {
		return in(string(raw))
	}
	return inValue(v, in)
}

func inValue(v any, in func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return in(v)
	case []any:
		return slices.ContainsFunc(v, func(x any) bool { return inValue(x, in) })
	case map[string]any:
		for k, x := range v {
			if in(k) || inValue(x, in) {
				return true
			}
		}
	}
	return false
}

// Redact returns a copy of an episode, as a new claim, without the sentences that match. For
// another claim it removes the notes about previous values, if only these match. It returns false
// if too little is left. It also returns false for an episode that was derived from the claim,
// because that says what the agent did because of the claim.
func (t *Claim) Redact(c *ken.Claim) (ken.Claim, bool) {
	if slices.ContainsFunc(c.Evidence, func(e ken.Evidence) bool {
		return e.Kind == ken.EvidenceRepositoryMemory && e.ID != "" && slices.Contains(t.ids, e.ID)
	}) {
		return *c, false
	}
	if c.Kind != ken.KindEpisode {
		return t.withoutNotes(c)
	}
	out, in := *c, t.matchIn(c.Session)
	out.ID, out.Supersedes, out.SupersededBy = "", "", ""
	var lines []string
	sentencesKept := 0
	for line := range strings.Lines(c.Text) {
		line = strings.TrimRight(line, "\n")
		kept := slices.DeleteFunc(Sentences(line), in)
		if rest := strings.Join(kept, " "); rest != "" && !in(rest) {
			lines = append(lines, rest)
			if rest != draft.SummaryNote {
				sentencesKept += len(kept)
			}
		}
	}
	out.Text = strings.Join(lines, "\n")
	if in(c.Heading) {
		out.Heading = "Session"
	}
	out.Evidence = slices.Clone(c.Evidence)
	for i := range out.Evidence {
		if in(out.Evidence[i].Detail) {
			out.Evidence[i].Detail = ""
		}
	}
	// The entities were derived from the complete text and the session. A name of the claim stays
	// only if the rest of the text has it.
	out.Entities = slices.DeleteFunc(slices.Clone(c.Entities), func(e string) bool {
		name := folded(e)
		return (slices.Contains(t.entities, name) || t.names != nil && t.names(e) || slices.ContainsFunc(t.phrases, func(p string) bool { return strings.Contains(p, name) })) &&
			!strings.Contains(folded(out.Heading+" "+out.Text), name)
	})
	if inJSON(c.Body, in) {
		var b session.EpisodeBody
		if json.Unmarshal(c.Body, &b) != nil {
			return out, false
		}
		b.Files, b.Open = slices.DeleteFunc(b.Files, in), slices.DeleteFunc(b.Open, in)
		if in(b.Note) {
			b.Note = ""
		}
		out.Body, _ = json.Marshal(b) // strings, numbers and times can always be marshaled
	}
	return out, sentencesKept > 1 && !t.MatchClaim(&out)
}

// withoutNotes returns a claim without its notes about previous values; false if these are not what
// matches.
func (t *Claim) withoutNotes(c *ken.Claim) (ken.Claim, bool) {
	out := *c
	out.ID, out.Supersedes, out.SupersededBy = "", "", ""
	out.Text = analysis.WithoutPastNotes(c.Text)
	return out, c.SupersededBy == "" && out.Text != c.Text && !t.MatchClaim(&out)
}

// folded returns a text in lower case with single spaces.
func folded(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// Sentences splits a text at line breaks and, approximately, at ends of sentences.
func Sentences(text string) (out []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		start := 0
		for i, r := range line {
			end := i + len(string(r))
			if !strings.ContainsRune(".!?;。！？", r) || end < len(line) && line[end] != ' ' && r < 0x80 {
				continue
			}
			if s := strings.TrimSpace(line[start:end]); s != "" {
				out = append(out, s)
			}
			start = end
		}
		if s := strings.TrimSpace(line[start:]); s != "" {
			out = append(out, s)
		}
	}
	return out
}
