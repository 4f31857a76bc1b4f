package api

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/spelling"
)

// form is the syntax of a parameter's value.
type form uint8

const (
	formText form = iota
	formNumber
	formFlag
	formScope
	formKind
)

// maxValue is the maximum length of a parameter's value in bytes.
const maxValue = 8 << 10

// param is a query parameter. Parameters are compared by address.
type param struct {
	name    string
	about   string
	form    form
	many    bool     // may be given several times
	must    bool     // must be given and not be empty
	enum    []string // the valid values; nil allows any
	low     int      // minimum of a number
	high    int
	def     string
	example string
}

// values holds the validated values of a query's parameters.
type values map[string][]string

// parseQuery parses a query for a route with these parameters. Its errors are problems that name
// the parameter.
func parseQuery(raw string, params []*param) (values, error) {
	given, err := url.ParseQuery(raw)
	if err != nil {
		return nil, invalid("query", "the query can't be read", "Escape what is not a letter, a digit or one of -._~ as %XX.")
	}
	out := values{}
	for name, list := range given {
		i := slices.IndexFunc(params, func(p *param) bool { return p.name == name })
		if i < 0 {
			return nil, unknownParam(name, params)
		}
		p := params[i]
		if len(list) > 1 && !p.many {
			return nil, invalid(name, "given more than once", "Give it once.")
		}
		for _, v := range list {
			if err := p.check(v); err != nil {
				return nil, err
			}
		}
		out[name] = list
	}
	for _, p := range params {
		if p.must && len(out[p.name]) == 0 {
			return nil, invalid(p.name, "missing", "Add "+p.name+" to the query.")
		}
	}
	return out, nil
}

// check returns an error if the value is not valid for the parameter.
func (p *param) check(v string) error {
	switch {
	case len(v) > maxValue:
		return invalid(p.name, fmt.Sprintf("%d bytes; at most %d", len(v), maxValue), "Shorten it.")
	case !utf8.ValidString(v):
		return invalid(p.name, "not valid UTF-8", "Convert it to UTF-8 first.")
	case p.must && strings.TrimSpace(v) == "":
		return invalid(p.name, "empty", "Give a value.")
	case p.enum != nil && !slices.Contains(p.enum, v):
		return invalid(p.name, "unknown value "+strconv.Quote(printable(v, 60)), "Use one of "+strings.Join(p.enum, ", ")+".")
	}
	switch p.form {
	case formNumber:
		n, err := strconv.Atoi(v)
		if err != nil || n < p.low || n > p.high || v != strconv.Itoa(n) {
			return invalid(p.name, "not a number from "+strconv.Itoa(p.low)+" to "+strconv.Itoa(p.high),
				"Give a whole number in that range.")
		}
	case formFlag:
		if _, err := strconv.ParseBool(v); err != nil {
			return invalid(p.name, "neither true nor false", "Give true or false.")
		}
	case formScope:
		if _, err := ken.ParseScope(v); err != nil {
			return err
		}
	case formKind:
		probe := ken.Claim{Kind: ken.Kind(v), Text: "x", Evidence: []ken.Evidence{ken.FromDecision("x")}, Status: ken.StatusObserved}
		if err := probe.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// unknownParam is the error for an unknown parameter. It suggests the most similar name.
func unknownParam(name string, params []*param) error {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.name
	}
	try := "Leave it out; there are no parameters here."
	if near := spelling.Nearest(name, names); near != "" {
		try = "Did you mean " + near + "?"
	} else if len(names) > 0 {
		slices.Sort(names)
		try = "Use some of " + strings.Join(names, ", ") + "."
	}
	return invalid(printable(name, 60), "unknown parameter", try)
}

// printable makes text of a request safe for an answer: it shortens it and replaces control
// characters.
func printable(s string, most int) string {
	return analysis.Clip(strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, s), most)
}

func invalid(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}

// The default and the maximum number of entries on a page.
const (
	defaultLimit = 50
	maxLimit     = 500
)

// Parameters that several routes share.
var (
	pLimit = &param{name: "limit", form: formNumber, low: 1, high: maxLimit, def: strconv.Itoa(defaultLimit),
		about: "The most entries of a page."}
	pCursor = &param{name: "cursor", about: "Where to go on: the value of next in the page before, with the same other parameters."}
	pKind   = &param{name: "kind", form: formKind, many: true, about: "Only claims of this kind.", example: "fact"}
	pStatus = &param{name: "status", many: true, enum: stringsOf(ken.Statuses()), about: "Only claims of this status."}
	pScope  = &param{name: "scope", form: formScope, many: true, about: "Only claims of exactly this scope, as type:id.",
		example: "repo:github.com/acme/payments"}
	pTrust = &param{name: "min_trust", enum: []string{"external", "agent", "operator"},
		about: "The least trusted speaker; default from the configuration."}
	pReason = &param{name: "reason", about: "Why. It stays in the log, so don't repeat the erased text."}
)

// Parameters of one route each.
var (
	pQuestion = &param{name: "q", must: true, about: "What is asked.", example: "how are payments retried?"}
	pType     = &param{name: "type", enum: []string{typeKnowledge, typeDocument, typeAll}, def: typeKnowledge,
		about: "What to look for: knowledge, which is claims; document, which is pieces of the repository; or all."}
	pMode = &param{name: "mode", enum: []string{string(ken.ModeHybrid), string(ken.ModeKeyword), string(ken.ModeVector)},
		about: "How to search; default is the best that the embedder allows."}
	pFloor   = &param{name: "floor", form: formFlag, def: "false", about: "Find nothing unless it bears on the question surely enough for a turn."}
	pExplain = &param{name: "explain", form: formFlag, def: "false", about: "Say what the question was read as, how each result was ranked and what was left out."}

	pTag        = &param{name: "tag", many: true, about: "Only claims with all of these tags.", example: "payments"}
	pSession    = &param{name: "session", about: "Only what belongs to this session."}
	pProject    = &param{name: "project", about: "Only claims of this project."}
	pConstraint = &param{name: "constraint", form: formFlag, def: "false", about: "Only constraints."}
	pArchived   = &param{name: "archived", form: formFlag, def: "false", about: "Archived claims too."}

	pName       = &param{name: "name", about: "A name or a part of one; all of them without it.", example: "payments"}
	pEntity     = &param{name: "entity", about: "The entity, under any of its names; all of them without it.", example: "payments"}
	pSuperseded = &param{name: "superseded", form: formFlag, def: "false", about: "What was replaced, too."}
	pDepth      = &param{name: "depth", form: formNumber, low: 1, high: entity.MaxDepth, def: "1", about: "How many dependencies away to look."}
	pSource     = &param{name: "source", must: true, about: "What depends.", example: "payments"}
	pRelation   = &param{name: "relation", must: true, enum: structure.DependencyTypes(), about: "How it depends."}
	pTarget     = &param{name: "target", must: true, about: "What it depends on.", example: "ledger"}
	pAbout      = &param{name: "about", about: "Only tasks about this entity.", example: "ledger"}
	pTaskStatus = &param{name: "task_status", many: true, enum: stringsOf(task.Statuses()), about: "Only tasks in this state; by default those that are not over."}

	pClaim    = &param{name: "claim", must: true, about: "The id of the claim that is asked about."}
	pAll      = &param{name: "all", form: formFlag, def: "false", about: "What was dismissed, too."}
	pDays     = &param{name: "days", form: formNumber, low: 1, high: maxDays, def: "30", about: "How many days, today included."}
	pJobState = &param{name: "state", many: true, enum: stringsOf([]jobs.State{jobs.Queued, jobs.Running, jobs.Done, jobs.Dead}),
		about: "Only jobs in this state."}
)

// pathParams describes the variable parts of paths.
var pathParams = map[string]string{
	"id":      "The id.",
	"turn":    "The turn's id, as the gateway's answer names it in X-Ken-Turn.",
	"session": "The session's id, whole.",
	"item":    "The item's id: 12 hexadecimal digits.",
	"job":     "The job's id, whole.",
	"name":    "The entity's name, or another of its names.",
	"task":    "The task's id, such as T-0001.",
	"code":    "The last part of a problem's type.",
}

func stringsOf[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}
