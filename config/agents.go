package config

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml/ast"

	"github.com/kenlayer/ken/internal/code/plan"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// agentKeys returns the single key of the section agents, which is a list: it has the
// section's name.
func agentKeys(agents *[]plan.Agent) []key {
	k := bindRecords("", agents, agentFields, []string{"name"},
		"Each agent has a name, tokens that it produces and requires (artifact:NAME, file:PATH, symbol:NAME), a command and a timeout; "+
			"only the name is required. The command is a program and its arguments, run without a shell; for a shell, write [\"sh\", \"-c\", "+
			"\"…\"]. Cycles, and required tokens that no agent produces, are errors.")
	k.example = agentsExample
	return []key{k.withConsentRule(needsConsent(reachCommand))}
}

const agentsExample = `  - name: researcher
    requires: [symbol:ISessionStore]
    produces: [artifact:findings, file:docs/findings.md]
    command: ["ken", "graph", "build"]
    timeout: 10m
  - name: writer
    requires: [artifact:findings]
    command: ["sh", "-c", "make report > report.log"]
`

func agentFields(a *plan.Agent) []key {
	return []key{
		bind("name", &a.Name, "", agentName(), ""),
		bindTokens("produces", &a.Produces),
		bindTokens("requires", &a.Requires),
		bindList("command", &a.Command, argument(), ""),
		bind("timeout", &a.Timeout, 0, span(time.Second, 7*24*time.Hour), ""),
	}
}

var agentForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// agentName is a name that can also be a file name.
func agentName() kind[string] {
	return words("a name of at most 64 letters, digits and . _ - that starts with a letter or digit", "", agentForm.MatchString)
}

// agentToken is the name of something that an agent produces or requires.
func agentToken() kind[plan.Token] {
	return kind[plan.Token]{
		rule{want: "artifact:NAME, file:PATH below the project's root, or symbol:NAME",
			try: "Write it as in artifact:report, file:docs/report.md or symbol:store.Engine.", types: textual},
		func(s string) (plan.Token, bool) {
			t, err := plan.ParseToken(s)
			return t, err == nil
		}, plan.Token.String}
}

// bindTokens declares a list of tokens. In {requires: [artifact: x]}, with a space
// after the colon, the YAML parser reads a token as a mapping. Both spellings are
// accepted.
func bindTokens(path string, field *[]plan.Token) key {
	k := bindList(path, field, agentToken(), "")
	k.types = slices.Concat(textual, mappings)
	k.element = func(n ast.Node) (string, error) {
		entries, ok := n.(ast.MapNode)
		if !ok {
			return word(n), nil
		}
		var words []string
		for it := entries.MapRange(); it.Next(); {
			kind, plain := it.Key().(*ast.StringNode)
			if name := it.Value(); plain && slices.Contains(textual, name.Type()) {
				words = append(words, kind.Value+":"+word(name))
			} else {
				words = nil
				break
			}
		}
		if len(words) != 1 {
			return "", k.refuse(describe(n))
		}
		return words[0], nil
	}
	return k
}

// argument is an argument of a command. It may contain a script of several lines. A
// person may have put a secret into it, so messages don't repeat it.
func argument() kind[string] {
	k := words("a text", "Put it in quotes, as in [\"sleep\", \"5\"].", func(s string) bool {
		return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
	})
	k.secret, k.reach = true, reachCommand
	return k
}
