package tools

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken"
)

// Right is something that a caller may do with tools.
type Right string

// Rights. One does not follow from the other.
const (
	Read  Right = "read"  // look at what is known
	Write Right = "write" // learn, verify, dispute, mark
)

// Rights lists every right. The caller owns the slice.
func Rights() []Right { return []Right{Read, Write} }

// Caller identifies the caller of a tool and what it may do. It comes from the process, the
// configuration or a key, never from text that a model wrote.
type Caller struct {
	Owner   string // the isolation boundary; "" is the configured one
	Project string // what is learned carries it
	Session string // what is learned carries it; "" for none
	Branch  string
	Agent   string // names the agent in histories
	// Scopes are the scopes that the caller may see besides unscoped claims; nil sees every
	// scope. A claim that is learned applies to the one scope, and everywhere when there is
	// none or there are several.
	Scopes []ken.Scope
	// Rights are the caller's rights; nil is none.
	Rights []Right
	// Offer names the profiles and tools that are listed to the caller; nil means
	// tools.profile of the configuration. It limits no right: a tool that is not listed
	// answers when it is called by its name. See Select.
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

// actor returns the caller as a claim's history names it.
func (c *Caller) actor() ken.Actor { return ken.Actor{Type: "agent", ID: c.Agent} }

// filter admits claims of these statuses that the caller may see; nil means
// ken.RecallStatuses.
func (c *Caller) filter(statuses []ken.Status) ken.Filter {
	return ken.Filter{Scopes: c.Scopes, Unscoped: true, Statuses: statuses, ClaimsOnly: true}
}

// sees reports whether a claim, whatever its status, is within the caller's scopes.
func (c *Caller) sees(k *ken.Claim) bool {
	return len(c.Scopes) == 0 || k.Scope.IsZero() || slices.Contains(c.Scopes, k.Scope)
}

// Profile is a named set of tools. --tools, tools.profile and ?tools= name profiles.
type Profile struct {
	Name  string
	Tools []string
}

// DefaultProfile is the profile that is listed where nothing names another.
const DefaultProfile = "core"

// core is all that most agents need. Its cost in tokens is bounded by a test in internal/tools/mcp.
var core = []string{"memory_recall", "knowledge_learn", "knowledge_dispute", "knowledge_explain", "forget_memory"}

// profiles hold every built-in tool that has no entry in aliases.
var profiles = []Profile{
	{"core", core},
	{"memory", slices.Concat(core, []string{"memory_list", "memory_stats", "recall_session", "knowledge_verify", "knowledge_history",
		"entity_search", "entity_show", "constraint_add", "dependency_add"})},
	{"code", []string{"graph_search", "graph_refs", "graph_dependents"}},
	{"decisions", []string{"decision_search", "decision_read", "decision_create", "decision_supersede",
		"objective_list", "objective_read", "objective_create", "objective_update", "objective_link_task", "task_list", "task_create", "task_update"}},
}

// allTools is the profile of every tool in profiles.
const allTools = "all"

// aliases maps a tool that no profile lists to the listed tool for the same act. A call
// by the old name is answered as before.
var aliases = map[string]string{"memory_ingest": "knowledge_learn", "knowledge_recall": "memory_recall"}

// Profiles returns every profile, the last one with all tools. The caller owns the slice.
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

// Select reads a comma-separated list of profiles and tool names, and returns the names
// of the tools without repetition, for Caller.Offer. Errors: ErrInvalid for an empty
// list, and for an unknown name with the valid ones; field names the setting in it.
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

// validNames lists what Select takes: profiles first, then tools.
func validNames() (out []string) {
	all := Profiles()
	for _, p := range all {
		out = append(out, p.Name)
	}
	out = append(out, all[len(all)-1].Tools...)
	for name := range aliases {
		out = append(out, name)
	}
	slices.Sort(out[len(all):])
	return out
}

// expand replaces profiles by their tools and drops repetitions. The result has one
// order, whatever the order of names.
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
