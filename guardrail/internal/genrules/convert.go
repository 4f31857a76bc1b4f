package main

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// The parts of which gitleaks' own generator builds most of its patterns.
const (
	suffix   = `(?:[\x60'"\s;]|\\[nr]|$)`
	named1   = `(?i)[\w.-]{0,50}?(?:`
	named2   = `[\w.-]{0,50}?(?i:[\w.-]{0,50}?(?:`
	between  = `)(?:[ \t\w.-]{0,20})[\s'"]{0,3}`
	operator = `(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}(`
)

// Word boundaries in gitleaks' patterns; guardrail checks its own.
var (
	starts = []string{`\b`, `(?:^|[\\'"\x60\s>=:(,)])`}
	ends   = []string{suffix, `(?:[\x60'"\s;]|\\[nr]|$|\b)`, `(?:[^\w-]|\z)`, `(?:[^a-zA-Z0-9+/]|\z)`, `(?:$|[\\'"\x60\s<),])`, `\b`}
)

// rule is a row of guardrail's table; see the type of the same name there.
type rule struct {
	id, kind string
	names    []string // in lower case
	anchors  []anchor
	pattern  string
	group    int
	starts   bool
	ends     bool
	max, min int
	entropy  float64
	allow    []string
}

// skipped is a rule that is not in the table or was changed, with the reason.
type skipped struct{ id, why string }

// result is the content of the generated file.
type result struct {
	total   int
	rules   []rule
	skipped []skipped
	changed []skipped
	allow   []string // patterns of values that are never secrets
	stop    []string // words that no secret contains
}

func convertAll(c config) result {
	out := result{total: len(c.Rules), allow: c.Allowlist.Regexes, stop: c.Allowlist.Stopwords}
	for _, s := range c.Rules {
		if why, ok := leftOut[s.ID]; ok {
			out.skipped = append(out.skipped, skipped{s.ID, why})
			continue
		}
		if p, ok := patterns[s.ID]; ok {
			s.Regex = p.pattern
			out.changed = append(out.changed, skipped{s.ID, p.why})
		}
		rules, err := convert(s)
		if err != nil {
			out.skipped = append(out.skipped, skipped{s.ID, err.Error()})
			continue
		}
		out.rules = append(out.rules, rules...)
	}
	return out
}

// convert parses a rule. A rule with two alternatives becomes two rules.
func convert(s source) ([]rule, error) {
	if s.Regex == "" {
		return nil, fmt.Errorf("has no expression")
	}
	if _, err := regexp.Compile(s.Regex); err != nil {
		return nil, fmt.Errorf("RE2 can't compile it: %w", err)
	}
	r := rule{id: s.ID, kind: s.ID, entropy: s.Entropy}
	if k, ok := kinds[s.ID]; ok {
		r.kind = k
	}
	for _, a := range s.Allowlists {
		if a.RegexTarget == "" && a.Condition == "" && len(a.Regexes) > 0 {
			r.allow = append(r.allow, a.Regexes...)
		}
	}
	if rest, ok := strings.CutPrefix(s.Regex, named1); ok {
		return named(r, rest, between, `(?i)`)
	}
	if rest, ok := strings.CutPrefix(s.Regex, named2); ok {
		return named(r, rest, between+`)`, ``)
	}
	r, err := shaped(r, s.Regex)
	return []rule{r}, err
}

// named parses a rule for a value that is assigned to a name.
func named(r rule, rest, middle, flags string) ([]rule, error) {
	names, secret, ok := strings.Cut(rest, middle+operator)
	if !ok {
		return nil, fmt.Errorf("is not built like other rules of its sort")
	}
	secret, more, two := strings.Cut(secret, `)`+suffix+`|`)
	if !two {
		if secret, ok = strings.CutSuffix(secret, `)`+suffix); !ok {
			return nil, fmt.Errorf("has no known end")
		}
	}
	out := r
	var err error
	if out.names, err = words(names); err != nil {
		return nil, err
	}
	out.pattern, out.ends = flags+secret, true
	if err = out.measure(); err != nil {
		return nil, err
	}
	if !two {
		return []rule{out}, nil
	}
	second, err := shaped(r, more)
	return []rule{out, second}, err
}

// words returns the strings that a pattern for names matches, in lower case. Rules
// that are case-sensitive in gitleaks lose nothing by that.
func words(pattern string) ([]string, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	const most = 100
	var all []string
	for _, seq := range sequences(re, most) {
		if !seq.complete {
			return nil, fmt.Errorf("its names are no list")
		}
		var b strings.Builder
		for _, set := range seq.sets {
			if len(set) != 1 {
				return nil, fmt.Errorf("its names are no list")
			}
			b.WriteString(set)
		}
		all = append(all, b.String())
	}
	if len(all) > most {
		return nil, fmt.Errorf("has more than %d names", most)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// shaped parses a rule for a secret that is recognised by its own format.
func shaped(r rule, pattern string) (rule, error) {
	flags := ""
	if rest, ok := strings.CutPrefix(pattern, `(?i)`); ok {
		flags, pattern = `(?i)`, rest
	}
	for _, s := range starts {
		if rest, ok := strings.CutPrefix(pattern, s); ok {
			r.starts, pattern = true, rest
			break
		}
	}
	for _, s := range ends {
		if rest, ok := strings.CutSuffix(pattern, s); ok {
			r.ends, pattern = true, rest
			break
		}
	}
	r.pattern = flags + pattern
	re, err := syntax.Parse(r.pattern, syntax.Perl)
	if err != nil {
		return r, fmt.Errorf("can't be split into parts: %w", err)
	}
	// A group within the pattern is the secret in gitleaks; one around the whole
	// pattern is ignored.
	if r.id == "nuget-config-password" || r.id == "freemius-secret-key" {
		r.group = 1
	}
	if r.anchors, err = anchorsOf(re); err != nil {
		return r, err
	}
	return r, r.measure()
}
