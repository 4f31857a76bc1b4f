package tools

import (
	"maps"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
)

// Right is a permission to use tools.
type Right string

// Rights. Neither includes the other.
const (
	Read  Right = "read"  // read knowledge
	Write Right = "write" // learn, verify, dispute, mark
)

// Rights returns all rights. The caller owns the slice.
func Rights() []Right { return []Right{Read, Write} }

// Caller identifies the caller of a tool and its permissions. It comes from the process, the
// configuration or a key, never from text that a model wrote.
type Caller struct {
	Owner   string // the isolation boundary; "" means the turn of ken.WithTurn, and then the configured owner
	Project string // set on learned claims
	Session string // set on learned claims; "" for none
	Branch  string
	Agent   string // the agent's name in histories
	// Scopes are the scopes that the caller may see, besides unscoped claims; nil means all scopes.
	// A learned claim gets the caller's scope if there is exactly one, and none otherwise.
	Scopes []ken.Scope
	// Rights are the caller's rights; nil means none.
	Rights []Right
	// Offer names the profiles and tools that are listed to the caller; nil means tools.profile of
	// the configuration. It does not limit rights: a tool that is not listed can still be called by
	// name. See Select.
	Offer []string
}

// Can reports whether the caller has a right.
func (c Caller) Can(r Right) bool { return slices.Contains(c.Rights, r) }

// scope returns the scope of a new claim.
func (c *Caller) scope() ken.Scope {
	if len(c.Scopes) == 1 {
		return c.Scopes[0]
	}
	return ken.Scope{}
}

// actor returns the caller in the form that claim histories use.
func (c *Caller) actor() ken.Actor { return ken.Actor{Type: "agent", ID: c.Agent} }

// filter returns a filter for claims with these statuses that the caller may see; nil means
// ken.RecallStatuses.
func (c *Caller) filter(statuses []ken.Status) ken.Filter {
	return ken.Filter{Scopes: c.Scopes, Unscoped: true, Statuses: statuses, ClaimsOnly: true}
}

// sees reports whether a claim is within the caller's scopes. Its status does not matter.
func (c *Caller) sees(k *ken.Claim) bool {
	return len(c.Scopes) == 0 || k.Scope.IsZero() || slices.Contains(c.Scopes, k.Scope)
}

// Profile is a named set of tools. --tools, tools.profile and ?tools= name profiles.
type Profile struct {
	Name  string
	Tools []string
}

// DefaultProfile is the profile that is listed by default.
const DefaultProfile = "core"

// core lists the tools that most agents need. A test in internal/tools/mcpserver limits their cost in
// tokens.
var core = []string{"memory_recall", "knowledge_learn", "knowledge_dispute", "knowledge_explain", "forget_memory"}

// profiles contain every built-in tool except those in aliases.
var profiles = []Profile{
	{"core", core},
	{"memory", slices.Concat(core, []string{"memory_list", "memory_stats", "recall_session", "knowledge_verify", "knowledge_history",
		"entity_search", "entity_show", "constraint_add", "dependency_add"})},
	{"code", []string{"graph_search", "graph_refs", "graph_dependents"}},
	{"decisions", []string{"decision_search", "decision_read", "decision_create", "decision_supersede",
		"objective_list", "objective_read", "objective_create", "objective_update", "objective_link_task", "task_list", "task_create", "task_update"}},
}

// allTools is the name of the profile with all tools of profiles.
const allTools = "all"

// aliases maps an older tool name, which no profile lists, to the listed tool that does the same.
// Calls by the older name still work.
var aliases = map[string]string{"memory_ingest": "knowledge_learn", "knowledge_recall": "memory_recall"}

// Profiles returns all profiles; the last one has all tools. The caller owns the slice.
func Profiles() []Profile {
	all := Profile{Name: allTools}
	for _, p := range profiles {
		for _, name := range p.Tools {
			if !slices.Contains(all.Tools, name) {
				all.Tools = append(all.Tools, name)
			}
		}
	}
	return append(slices.Clone(profiles), all)
}

// Select parses a comma-separated list of profile and tool names for Caller.Offer. It returns the
// names of the tools without duplicates. It returns ErrInvalid for an empty list, and for an
// unknown name, with the valid names. field is the setting's name for the error.
func Select(field, list string) ([]string, error) {
	names := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	valid := validNames()
	try := "Use a comma-separated list of: " + strings.Join(valid, ", ") + "."
	if len(names) == 0 {
		return nil, invalid(field, "no profile or tool is named", try)
	}
	for _, name := range names {
		if slices.Contains(valid, name) {
			continue
		}
		return nil, invalid(field, "there is no profile or tool "+quoteValue(name)+suggest(name, valid), try)
	}
	return expand(names), nil
}

// validNames lists the names that Select accepts: profiles first, then tools.
func validNames() (out []string) {
	all := Profiles()
	for _, p := range all {
		out = append(out, p.Name)
	}
	out = append(out, all[len(all)-1].Tools...)
	out = slices.AppendSeq(out, maps.Keys(aliases))
	slices.Sort(out[len(all):])
	return out
}

// expand replaces profiles by their tools and removes duplicates. The order of the result does not
// depend on the order of names.
func expand(names []string) (out []string) {
	all := Profiles()
	for _, name := range names {
		if i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name }); i >= 0 {
			out = append(out, all[i].Tools...)
		} else {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
