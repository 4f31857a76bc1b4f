package reading

// Type is what sort of thing an entity is.
type Type string

// The types, of which a task and a skill have a life of their own elsewhere.
const (
	Person  Type = "person" // also a team
	Project Type = "project"
	System  Type = "system" // what runs or is part of what runs: services, databases, files, identifiers
	Tool    Type = "tool"   // what one builds with or works with: languages, frameworks, products
	Concept Type = "concept"
	Skill   Type = "skill"
	Task    Type = "task"
	Unknown Type = "unknown"
)

// Types returns every type, in the order above.
func Types() []Type { return []Type{Person, Project, System, Tool, Concept, Skill, Task, Unknown} }

// Types of dependencies: "payments requires ledger" has the source first.
const (
	Uses     = "uses"
	Requires = "requires"
	OwnedBy  = "owned_by"
	Blocks   = "blocks"
	Informs  = "informs"
)

// Names tells which names something is filed under; store.Structure is one.
type Names interface {
	// Known reports for each name, spelled as analysis.Entity does, whether a record
	// that stands carries it. The result is as long as names.
	Known(names []string) []bool
}

// Bounds of a reading. A text longer than MaxBytes is read up to there.
const (
	MaxBytes        = 4096
	MaxEntities     = 8
	MaxDependencies = 8
)

// Mention is a thing that a text speaks of.
type Mention struct {
	Name    string // as analysis.Entity spells it
	Display string // as the text spells it; shares the text's memory
	Type    Type
	Known   bool // records carry the name already
	// Confidence that this is the name of one thing, 0..1: see the constants.
	Confidence float64
}

// Confidence by how a name was found. The numbers are set by judgement, to order the
// ways; nothing was measured to calibrate them.
const (
	ByGiven      = 1.0  // the claim came with it
	ByKnown      = 0.9  // records carry the name
	BySpeaker    = 0.9  // who says it, of themselves
	ByPath       = 0.85 // a file's path
	ByIdentifier = 0.85 // written as code: PascalCase, snake_case, dotted, in backquotes
	ByHead       = 0.8  // a noun phrase whose head tells its type: the payments service
	ByProduct    = 0.8  // a product of the built-in list: postgresql
	ByCapital    = 0.7  // a capital inside the sentence, an acronym, a person who said it
	BySpeech     = 0.6  // who says it, of something without a name
	BySubject    = 0.55 // the head of the subject
	ByObject     = 0.5  // the object of an order
	ByEvidence   = 0.45 // the file that the claim rests on
	ByProject    = 0.3  // the project that it was said in, for want of anything else
)

// Dependency is what the text says about how one thing stands to another.
type Dependency struct {
	Source, Type, Target string  // names, spelled by analysis.Entity; Type is one of Uses, Requires, OwnedBy, Blocks, Informs
	Strength             float64 // 0..1, by the verb; half of it where the text hedges
}

// Reading is what a claim's text says by rules.
type Reading struct {
	// Entities is what the text is about, the primary one first, then what else it
	// names, at most MaxEntities, each once. Empty when nothing was found.
	Entities     []Mention
	Aspect       string // of the primary entity; General when no rule fits, never empty
	Constraint   bool   // the text sets a rule
	Dependencies []Dependency
	Confidence   float64 // of the primary entity, 0..1; 0 when there is none
}
