package reading

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// Bounds of what is read.
const (
	maxWords = 640 // words of a text
	maxCode  = 96  // maximum number of bytes between two backquotes
)

// reader holds the state of reading one claim.
type reader struct {
	claim *ken.Claim
	text  string // the part of the text that is read
	low   string // the same with ASCII letters in lower case
	words []word
	found []found // in order of position

	speaker     found // the speaker; without a name if nobody is named
	voice       voice
	tongue      tongue
	otherScript bool // see otherScript
	body        int  // index of the first word after the speaker and openings
	answer      int  // index of the word between a question and its answer; 0 if there is none
	external    bool
	rule        bool      // the text sets a rule
	parts       []Mention // modifiers of compounds: the ledger of "ledger entries"
	filed       found     // the known thing that the file in the evidence is named after
}

// voice says who speaks to whom, as far as it matters for rules.
type voice uint8

const (
	nobody voice = iota // the text has no speaker
	user                // the user speaks to the agent
	person              // a person speaks to another person
)

// found is a mention and its position words[from:to].
type found struct {
	Mention
	from, to int
	weak     bool // the head of a noun phrase, and no name
}

// Read analyses a claim's text. known reports which names records already have; nil means none.
// It is called once, with all word groups of the text. The claim is not changed, and only
// substrings of its texts are kept.
//
// The time is linear in the length of the text, of which at most MaxBytes are read: about 30
// microseconds of one core for a sentence of 25 words.
func Read(c *ken.Claim, known Names) Reading { return read(c, known, false) }

// read is Read. If judged is set, a trained judgement may decide what the text is about.
func read(c *ken.Claim, known Names, judged bool) Reading {
	var words [48]word
	var list [16]found
	r := reader{claim: c, words: words[:0], found: list[:0]}
	r.open()
	r.scan()
	r.recognise()
	r.speak()
	r.name(known)
	r.rule = r.constraint()
	r.stated()
	primary := r.primary()
	if r.filed.Name != "" && !primary.Known && primary.weak && !r.rule { // the file's subject says more than an unknown noun
		if f := primary; f.Confidence >= ByObject {
			r.parts = append([]Mention{f.Mention}, r.parts...)
		}
		primary = r.filed
	}
	out := Reading{Dependencies: r.dependencies(&primary), Aliases: r.aliases()}
	if judged && !r.rule && c.Session != "" { // the author of a hand-written claim states what it is about
		primary = r.judged(primary)
	}
	if out.Entities = r.entities(&primary); r.isConduct(&primary) {
		out.Entities = nil
	}
	if r.claim.Kind == ken.KindEpisode { // an account in Ken's own words: its words are no names
		out.Entities = slices.DeleteFunc(out.Entities, func(m Mention) bool { return !m.Known && m.Confidence != ByGiven && Product(m.Name) == "" })
	}
	kind, thing := Unknown, false
	if len(out.Entities) > 0 {
		m := &out.Entities[0]
		out.Confidence, kind = m.Confidence, m.Type
		thing = m.Known && m.Display != "" && m.Display[0] >= 'a' && m.Display[0] <= 'z' // nobody writes names without a capital
	}
	out.Constraint = r.rule
	out.Candidate = !r.rule && r.likely()
	if out.Aspect = r.aspect(kind, thing); out.Constraint && len(out.Entities) > 0 && out.Entities[0].Name == "user" {
		out.Aspect = "preferences" // how the agent must behave towards the user
	}
	return out
}

// open cuts the text to the part that is read. What Ken noted about previous values is left out.
func (r *reader) open() {
	text := analysis.WithoutPastNotes(r.claim.Text)
	if len(text) > MaxBytes {
		n := MaxBytes
		for n > MaxBytes-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	r.text, r.low = text, lower(text)
	r.external = !r.claim.Support(nil).Trust.AtLeast(ken.TrustAgent)
}

// lower returns s with ASCII letters in lower case; offsets do not change.
func lower(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if c := b[i]; c >= 'A' && c <= 'Z' {
					b[i] = c + 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// speak finds the speaker: "User: …", "Ana: …". Another label before a colon, as in "Decision:
// …", is skipped.
func (r *reader) speak() {
	r.skipQuestion()
	defer r.skipOpening()
	if len(r.words) == 0 {
		return
	}
	n := 0
	for n < len(r.words) && n < 5 && r.words[n].stop == 0 {
		n++
	}
	if n == len(r.words) || n >= 5 || r.words[n].stop != ':' || n+1 == len(r.words) {
		return
	}
	w := &r.words[0]
	display := r.text[w.start:r.words[n].end]
	switch {
	case openings[strings.ToLower(display)]: // "Übrigens: …" is no name
	case n == 0 && w.low == "user":
		r.voice = user
		r.speaker = found{Mention: Mention{Name: "user", Display: display, Type: Person, Confidence: BySpeaker}}
	case strings.HasPrefix(r.low, "proposed by the assistant, accepted by the user:"):
	case n <= 2 && r.named(0, n+1):
		r.speaker = found{Mention: Mention{Name: r.join(0, n+1), Display: display, Type: Unknown, Confidence: BySpeaker}}
		if r.speaks(n + 1) {
			r.voice, r.speaker.Type = person, Person
		}
	default:
		if n == 0 && w.entry.is(label) || n > 0 && r.words[n].entry.is(label) {
			r.begin(n + 1)
		}
		return
	}
	r.begin(n + 1)
}

// speaks reports whether the words before a colon are a speaker and not a topic: words of a
// conversation follow, or the claim came with that name.
func (r *reader) speaks(from int) bool {
	return r.has(from, len(r.words), first|second|plural) || slices.ContainsFunc(r.claim.Entities, func(e string) bool { return analysis.Entity(e) == r.speaker.Name })
}

// begin skips the first n words.
func (r *reader) begin(n int) {
	for i := range n {
		r.words[i].aside = true
	}
	r.body = n
	if n < len(r.words) {
		r.words[n].opens, r.words[n].broken = true, true
	}
}

// named reports whether words can be a person's name: each has a capital, and none is common or
// a product.
func (r *reader) named(from, to int) bool {
	return !r.some(from, to, func(i int) bool {
		w := &r.words[i]
		return !w.upper || w.code || w.path || w.capitals && w.end-w.start > 2 || w.entry.is(product|label|calendar) ||
			to-from == 1 && w.entry.is(common|function|verb) || w.possessive
	})
}

// skipQuestion marks what extraction adds as no part of the statement: "(asked by Ana: …)" at the end, which
// is somebody else's question, and the word between the assistant's question and its answer.
func (r *reader) skipQuestion() {
	for i := 1; i+1 < len(r.words); i++ {
		if w := &r.words[i]; w.low == "answer" && w.stop == ':' && strings.HasPrefix(r.text[w.start:], "Answer: ") {
			w.aside, r.answer = true, i
			r.words[i+1].opens, r.words[i+1].broken = true, true
			break
		}
	}
	at := strings.LastIndex(r.low, "(asked by ")
	if at < 0 || !strings.HasSuffix(r.text, ")") {
		return
	}
	for i := len(r.words) - 1; i >= 0 && r.words[i].start > at; i-- {
		r.words[i].aside = true
	}
}

// join returns words[from:to] as one name.
func (r *reader) join(from, to int) string {
	if to-from == 1 {
		return r.words[from].name
	}
	var b strings.Builder
	for i := from; i < to; i++ {
		if i > from {
			b.WriteByte(' ')
		}
		b.WriteString(r.words[i].name)
	}
	return canonical(b.String())
}

// canonical returns the form of a name that consists of several spelled words. It may have
// fewer words, if the first is an article or there is a mark between them.
func canonical(s string) string {
	if len(s) > 120 { // analysis.Entity's limit
		return analysis.Entity(s)
	}
	joint := 0 // dots and slashes inside a word are kept
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case c == ' ' && joint == 0:
		case (c == '.' || c == '/') && i > 0 && i+1 < len(s) && strings.IndexByte(s, ' ') < 0:
			joint++
		default:
			return analysis.Entity(s)
		}
	}
	if i := strings.IndexByte(s, ' '); i > 0 && lexicon()[s[:i]].is(determiner) || strings.HasPrefix(s, " ") || strings.HasSuffix(s, " ") || strings.Contains(s, "  ") {
		return analysis.Entity(s)
	}
	return s
}

// display returns words[from:to] as written in the text.
func (r *reader) display(from, to int) string {
	last := &r.words[to-1]
	end := last.end
	if last.possessive && !last.code {
		end = last.start + len(last.low)
	}
	return r.text[r.words[from].start:min(end, last.end)]
}

// entities returns the primary, then the other names that the claim came with, then the other
// names in the text by position. A name that the claim came with comes first if the rules found
// it to be the primary, or if they found none with at least the confidence of an order's
// object.
func (r *reader) entities(primary *found) []Mention {
	out := make([]Mention, 0, min(MaxEntities, len(r.found)+2))
	add := func(m *Mention) {
		if m.Name == "" || len(out) == MaxEntities || canonical(m.Name) != m.Name {
			return
		}
		if !slices.ContainsFunc(out, func(o Mention) bool { return o.Name == m.Name }) {
			out = append(out, *m)
		}
	}
	if len(r.claim.Entities) > 0 && primary.Confidence >= ByObject {
		if m, ok := r.givenSpelling(primary); ok {
			add(&m)
		} else {
			add(&primary.Mention)
		}
	}
	for _, e := range r.claim.Entities {
		m := r.givenName(e)
		add(&m)
	}
	add(&primary.Mention)
	for i := range r.found {
		if !r.found[i].weak {
			add(&r.found[i].Mention)
		}
	}
	for i := range r.parts {
		add(&r.parts[i])
	}
	add(&r.filed.Mention)
	return out
}

// maxRule is the maximum length of a text that is a rule itself, in bytes. A longer text has
// rules in it.
const maxRule = 600

// Assign files a claim by rules. It normalises the names that the claim came with, adds those
// in the text in the order of [Reading], and sets the aspect and the constraint flag if they
// are empty. A rule about nothing, which would be in every turn, and a text that may be a rule
// become rule candidates. Assign reports whether it changed the claim; then AssignedBy is
// AssignedByRules. Claims that are assigned already, structural ones and pieces of the
// repository are not changed.
//
// The text of an external source never becomes a constraint here, but a flag that is set is
// kept. Assign changes no slice that the claim shares with others.
func Assign(c *ken.Claim, known Names) bool {
	if c.AssignedBy != "" || c.Kind.Structural() || c.Kind == ken.KindDocument {
		return false
	}
	named := c.Session != "" && c.Status == ken.StatusInferred && len(c.Entities) > 0 // by the model that worded it, the main one first
	out := read(c, known, !named)
	names := make([]string, 0, max(len(out.Entities), len(c.Entities)))
	add := func(n string, most int) {
		if n != "" && len(names) < most && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	first := 0 // the primary of the reading precedes the given names if there is room
	if len(out.Entities) > 0 && len(c.Entities) < MaxEntities && !named {
		add(out.Entities[0].Name, 1)
		first = len(names)
	}
	most := max(MaxEntities, len(c.Entities)+first)
	for _, e := range c.Entities { // all of them: given names are never dropped
		add(analysis.Entity(e), most)
	}
	for i := range out.Entities {
		add(out.Entities[i].Name, max(MaxEntities, len(c.Entities)))
	}
	for _, e := range c.Entities { // "postgres 15" is PostgreSQL, too
		if own := Product(analysis.Entity(e)); !Common(own) {
			add(own, MaxEntities)
		}
	}
	changed := false
	if !slices.Equal(names, c.Entities) {
		c.Entities, changed = names, true
	}
	if c.Aspect == "" && len(names) > 0 {
		c.Aspect, changed = out.Aspect, true
	}
	everywhere := c.Kind == ken.KindHot || c.Kind == ken.KindPattern // it is in every turn anyway
	switch {
	case c.Constraint:
	case out.Constraint && (len(names) > 0 || everywhere):
		c.Constraint, c.RuleCandidate, changed = true, false, true
	case (out.Constraint || out.Candidate) && !c.RuleCandidate && !everywhere: // only an operator may set a rule about everything
		c.RuleCandidate, changed = true, true
	}
	if changed {
		c.AssignedBy = ken.AssignedByRules
	}
	return changed
}

// givenName returns the mention for a name that the claim came with. It is empty for what is
// no name.
func (r *reader) givenName(e string) Mention {
	name := analysis.Entity(e)
	if name == "" {
		return Mention{}
	}
	m := Mention{Name: name, Display: e, Type: TypeOf(name), Confidence: ByGiven}
	if name == r.speaker.Name {
		m.Type = Person
	}
	for i := range r.found {
		if f := &r.found[i]; f.Name == name {
			m.Type, m.Known = f.Type, f.Known
		}
	}
	return m
}

// givenSpelling returns the name that the claim came with that is another spelling of the
// primary.
func (r *reader) givenSpelling(primary *found) (Mention, bool) {
	for _, e := range r.claim.Entities {
		m := r.givenName(e)
		if m.Name != "" && (m.Name == primary.Name || headless(m.Name) == primary.Name || headless(primary.Name) == m.Name || OtherNumber(m.Name) == primary.Name) {
			return m, true
		}
	}
	return Mention{}, false
}

// TypeOf guesses the type from the name alone: a product is a tool, a file a system, the
// staging database a system. It is Unknown if the name says nothing. name is in the form of
// analysis.Entity.
func TypeOf(name string) Type {
	if name == "user" {
		return Person
	}
	if Product(name) != "" {
		return Tool
	}
	last := name[strings.LastIndexByte(name, ' ')+1:]
	switch e := lexicon()[last]; {
	case e.is(product):
		return Tool
	case e.head > 0 && len(last) < len(name):
		return heads[e.head-1].typ
	}
	if isPath(name) || dotted(name) {
		return System
	}
	return Unknown
}

// imported reports whether evidence is a file that only held the claim, such as an export.
func imported(e *ken.Evidence) bool {
	return e.Kind == ken.EvidenceArtifact && strings.HasPrefix(e.ArtifactID, "import:")
}

// evidence returns the file in the claim's evidence, if there is one that the claim may be about.
func (r *reader) evidence() found {
	for _, e := range r.claim.Evidence {
		if imported(&e) {
			continue
		}
		if name := analysis.Entity(e.Path); name != "" {
			return found{Mention: Mention{Name: name, Display: e.Path, Type: System, Confidence: ByEvidence}}
		}
	}
	return found{}
}

// project returns the project of the claim.
func (r *reader) project() found {
	c := r.claim
	for _, p := range [...]string{c.Project, c.Scope.ID} {
		if p == "" || p == c.Scope.ID && c.Scope.Type != "project" && c.Scope.Type != "repo" {
			continue
		}
		base := path.Base(strings.TrimSuffix(strings.ReplaceAll(p, `\`, "/"), ".git"))
		if name := analysis.Entity(base); name != "" && name != "." && name != "/" {
			return found{Mention: Mention{Name: name, Display: base, Type: Project, Confidence: ByProject}}
		}
	}
	return found{}
}

// Type is the type of an entity.
type Type string

// The types. Tasks and skills are also objects of their own in other packages.
const (
	Person  Type = "person" // also a team
	Project Type = "project"
	System  Type = "system" // something that runs, or a part of it: services, databases, files, identifiers
	Tool    Type = "tool"   // something to build or work with: languages, frameworks, products
	Concept Type = "concept"
	Skill   Type = "skill"
	Task    Type = "task"
	Unknown Type = "unknown"
)

// Types returns every type, in the order above.
func Types() []Type { return []Type{Person, Project, System, Tool, Concept, Skill, Task, Unknown} }

// Types of dependencies. The source comes first in "payments requires ledger".
const (
	Uses     = "uses"
	Requires = "requires"
	OwnedBy  = "owned_by"
	Blocks   = "blocks"
	Informs  = "informs"
)

// Names reports which names something is filed under; store.Structure implements it.
type Names interface {
	// Known reports for each name whether an active record has it. Names are in the form of
	// analysis.Entity. The result is as long as names.
	Known(names []string) []bool
}

// Bounds of a reading. Only the first MaxBytes of a text are read.
const (
	MaxBytes        = 4096
	MaxEntities     = 8
	MaxDependencies = 8
)

// Mention is a thing that a text names.
type Mention struct {
	Name    string // in the form of analysis.Entity
	Display string // as written in the text; shares the text's memory
	Type    Type
	Known   bool // records have the name already
	// Confidence is how likely this is the name of one thing, 0..1; see the constants.
	Confidence float64
}

// Confidence by how a name was found. The numbers are chosen to order the ways; they are not
// calibrated by measurements.
const (
	ByGiven      = 1.0  // the claim came with it
	ByKnown      = 0.9  // records have the name
	BySpeaker    = 0.9  // the speaker, who speaks about themselves
	ByPath       = 0.85 // a file's path
	ByIdentifier = 0.85 // written as code: PascalCase, snake_case, dotted, in backquotes
	ByHead       = 0.8  // a noun phrase whose head tells its type: the payments service
	ByProduct    = 0.8  // a product of the built-in list: postgresql
	ByCapital    = 0.7  // a capital inside the sentence, an acronym, a person who said it
	BySpeech     = 0.6  // the speaker, who speaks about something without a name
	BySubject    = 0.55 // the head of the subject
	ByObject     = 0.5  // the object of an order
	ByEvidence   = 0.45 // the file in the claim's evidence
	ByProject    = 0.3  // the project of the claim, if there is nothing else
)

// Dependency is a relation between two things that the text states.
type Dependency struct {
	Source, Type, Target string  // names in the form of analysis.Entity; Type is one of Uses, Requires, OwnedBy, Blocks, Informs
	Strength             float64 // 0..1, by the verb; half of it if the text hedges
}

// Reading is the result of analysing a claim's text.
type Reading struct {
	// Entities is what the text is about, the primary one first, then the other names in it,
	// each once and at most MaxEntities. It is empty if nothing was found.
	Entities     []Mention
	Aspect       string // aspect of the primary entity; General if no rule fits, never empty
	Constraint   bool   // the text sets a rule
	Candidate    bool   // the text sets no rule explicitly, but may mean one
	Dependencies []Dependency
	Aliases      []Alias // pairs of names that the text gives one thing
	Confidence   float64 // of the primary entity, 0..1; 0 if there is none
}
