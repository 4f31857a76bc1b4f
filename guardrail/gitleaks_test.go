package guardrail

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// sample makes a text that an expression matches. Random choices give it the
// entropy that a real secret has.
func sample(re *syntax.Regexp, r *rand.Rand) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		var set []rune
		for i := 0; i < len(re.Rune); i += 2 {
			for c := max(re.Rune[i], '!'); c <= min(re.Rune[i+1], '~'); c++ {
				if strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", c) {
					set = append(set, c)
				}
			}
		}
		if len(set) == 0 {
			return string(re.Rune[0])
		}
		return string(set[r.IntN(len(set))])
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "." // the dot of a name, whose point nobody escaped
	case syntax.OpAlternate:
		return sample(re.Sub[r.IntN(len(re.Sub))], r)
	case syntax.OpRepeat, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		n := re.Min
		if re.Op == syntax.OpPlus {
			n = 12
		}
		var b strings.Builder
		for range n {
			if re.Sub[0].Op == syntax.OpAnyCharNotNL {
				b.WriteByte(byte('a' + r.IntN(26)))
				continue
			}
			b.WriteString(sample(re.Sub[0], r))
		}
		return b.String()
	}
	var b strings.Builder
	for _, s := range re.Sub {
		b.WriteString(sample(s, r))
	}
	return b.String()
}

// Each rule finds a secret made after its own expression, where secrets stand:
// in code, in prose before a full stop, in JSON, in a shell.
func TestGitleaksRulesFindTheirSecrets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range gitleaksRules {
		rule := &gitleaksRules[i]
		re, err := syntax.Parse(rule.pattern, syntax.Perl)
		if err != nil {
			t.Fatalf("%s: %v", rule.id, err)
		}
		for range 3 {
			secret := sample(re, r)
			for digits(secret) == 0 && len(rule.names) > 0 {
				secret = sample(re, r)
			}
			forms := []string{"use " + secret + " here", "It is " + secret + ".", `{"k": "` + secret + `"}`, "X=" + secret + "\n", "(" + secret + ")"}
			if len(rule.names) > 0 {
				name := rule.names[r.IntN(len(rule.names))]
				forms = []string{name + "_x = " + secret, strings.ToUpper(name) + `_X: "` + secret + `"`, `{"` + name + `": "` + secret + `"}`,
					"my" + name + "X := `" + secret + "`;", name + ", " + secret + ".\n"}
			}
			for _, text := range forms {
				got, found := Redact(text)
				if strings.Contains(got, secret) || len(found) == 0 {
					t.Errorf("%s: %q became %q", rule.id, text, got)
				}
			}
		}
	}
}

func TestGitleaksLosesNoRule(t *testing.T) {
	why := map[string]string{}
	for _, r := range gitleaksRules {
		why[r.id] = "converted"
		if len(r.names) == 0 == (len(r.anchors) == 0) {
			t.Errorf("%s has names %v and anchors %v", r.id, r.names, r.anchors)
		}
	}
	for _, l := range gitleaksLeftOut {
		if why[l.id] != "" || l.why == "" {
			t.Errorf("%s is left out because %q, and %s", l.id, l.why, why[l.id])
		}
		why[l.id] = l.why
	}
	for _, l := range gitleaksChanged {
		if why[l.id] != "converted" {
			t.Errorf("%s is changed and not there", l.id)
		}
	}
	if len(why) != gitleaksTotal {
		t.Errorf("%d of %d rules of gitleaks %s are in the table or left out with a reason", len(why), gitleaksTotal, gitleaksVersion)
	}
}

// The expressions are compiled when they are needed first; a broken one would
// panic in somebody's write.
func TestGitleaksRulesCompile(t *testing.T) {
	for i := range gitleaksRules {
		c := compile(&gitleaksRules[i])
		if c.re().NumSubexp() < c.group {
			t.Errorf("%s has no group %d", c.id, c.group)
		}
		c.allow()
		for _, a := range c.anchors {
			if len(classes(a.text)) < 4 {
				t.Errorf("%s: anchor %q is too short", c.id, a.text)
			}
		}
	}
	if len(allowed()) == 0 {
		t.Error("no values are allowed")
	}
}

// What services are called stands in ordinary text too.
func TestGitleaksRulesLeaveWordsAlone(t *testing.T) {
	for _, text := range []string{
		"Dropbox, synchronization of folders", "the linear: configuration", "twitter: https://twitter.com/somebody/status/1234567890123456789",
		"Asked for a risk: desk", "JIRA-1234: confluence, documentation", "travis: abcdefghijklmnopqrstuv", "discord = client.New()",
		"facebook: 12345678901234567890123456789012", "export SENTRY_DSN=$SENTRY_DSN_VALUE", "heroku, restart", "global = test_variable_name",
		"datadog: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "AKIAIOSFODNN7EXAMPLE", "sk-ant-api03-...", "the task is done", "okta: 00{{ .Values.token }}",
		"shpat_00000000000000000000000000000000", "gitter-access-token: [redacted:gitter-access-token]", "intercom.Widget(settings)",
	} {
		if found := Secrets(text); len(found) > 0 {
			t.Errorf("%q: %v %q", text, found, text[found[0].Start:found[0].End])
		}
	}
}

// A token that goes on behind what its rule demands is redacted to its end.
func TestRedactLeavesNoTail(t *testing.T) {
	for _, secret := range []string{"glptt-" + strings.Repeat("0a1b2c3d4e", 4) + "5f6a7b8c", "shpat_" + strings.Repeat("0a1b2c3d", 4) + "e5f6",
		"ops_eyJ" + strings.Repeat(random36, 150)} {
		if got, _ := Redact("use " + secret + " now"); !regexp.MustCompile(`^use \[redacted:[a-z0-9-]+\] now$`).MatchString(got) {
			t.Errorf("%.60q became %.200q", secret, got)
		}
	}
}
