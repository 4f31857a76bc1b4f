package config

import "strconv"

// PolicyRule says which model calls get knowledge and are learned from. It fits a call
// that meets every condition which is set. In patterns, a star stands for any characters,
// and case does not matter.
type PolicyRule struct {
	Model string // pattern of the model that the request names
	Path  string // pattern of the request's path
	Agent string // pattern of the agent's name, or of its whole User-Agent
	Key   string // name of a key of gateway.keys
	Tools *bool  // whether the request offers tools

	Knowledge *bool // whether a block is added; nil is true
	Learn     *bool // whether the call is journaled and harvested; nil is true
}

// policyKeys are those of the section policy, which is a list: one key without a name of
// its own.
func policyKeys(rules *[]PolicyRule) []key {
	k := bindRecords("", rules, policyFields, nil,
		"The first rule that fits a call decides. Conditions, of which all that are set must hold: model, path and agent are patterns with * for any "+
			"characters, key is the name of one of gateway.keys, tools says whether the request offers any. knowledge: false adds no block, "+
			"learn: false keeps nothing; each is true where it is not set, so that a rule without them exempts calls from the rules below and from being taken for side calls.")
	k.example = policyExample
	return []key{k.judged(asks("which calls get knowledge and are learned from"))}
}

const policyExample = `  - agent: nightly-report*
    learn: false
  - model: "*embed*"
    tools: false
    knowledge: false
    learn: false
`

func policyFields(r *PolicyRule) []key {
	return []key{
		bind("model", &r.Model, "", pattern(), ""),
		bind("path", &r.Path, "", pattern(), ""),
		bind("agent", &r.Agent, "", pattern(), ""),
		bind("key", &r.Key, "", name(), ""),
		bind("tools", &r.Tools, nil, ternary(), ""),
		bind("knowledge", &r.Knowledge, nil, ternary(), ""),
		bind("learn", &r.Learn, nil, ternary(), ""),
	}
}

// pattern is one line of text in which a star stands for any characters.
func pattern() kind[string] {
	k := name()
	k.want, k.try = "a pattern", "Write it as in gpt-4o-mini or claude-*, in quotes where it begins with a star."
	return k
}

// ternary is true, false, or not set, which is nil.
func ternary() kind[*bool] {
	return kind[*bool]{rule{want: "true or false", types: boolean},
		func(s string) (*bool, bool) {
			b := s == "true"
			return &b, s == "true" || s == "false"
		},
		func(b *bool) string {
			if b == nil {
				return ""
			}
			return strconv.FormatBool(*b)
		}}
}
