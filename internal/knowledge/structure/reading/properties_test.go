package reading_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// holds checks what is true of every reading, whatever the text.
func holds(t testing.TB, text string, r reading.Reading) {
	t.Helper()
	if len(r.Entities) > reading.MaxEntities || len(r.Dependencies) > reading.MaxDependencies {
		t.Errorf("%q: %d entities, %d dependencies", text, len(r.Entities), len(r.Dependencies))
	}
	if r.Aspect == "" || r.Confidence < 0 || r.Confidence > 1 || (r.Confidence == 0) != (len(r.Entities) == 0) {
		t.Errorf("%q: aspect %q, confidence %v of %d entities", text, r.Aspect, r.Confidence, len(r.Entities))
	}
	seen := map[string]bool{}
	for _, m := range r.Entities {
		if m.Name == "" || m.Name != analysis.Entity(m.Name) || seen[m.Name] || !slices.Contains(reading.Types(), m.Type) || m.Confidence <= 0 || m.Confidence > 1 {
			t.Errorf("%q: %+v, spelled %q", text, m, analysis.Entity(m.Name))
		}
		seen[m.Name] = true
	}
	for _, d := range r.Dependencies {
		known := slices.Contains([]string{reading.Uses, reading.Requires, reading.OwnedBy, reading.Blocks, reading.Informs}, d.Type)
		if d.Source == "" || d.Target == "" || d.Source == d.Target || !known || d.Strength <= 0 || d.Strength > 1 ||
			d.Source != analysis.Entity(d.Source) || d.Target != analysis.Entity(d.Target) {
			t.Errorf("%q: %+v", text, d)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"never deploy the payments service on Fridays; it depends on the ledger, which must stay on PostgreSQL 15",
		"User: Always answer in German.", "Ana: I moved to Lyon (asked by Bob: where)", "`", "``", "```", "\"a 'b", "'s", "’s", "s'", "x’s", "`a b`'s owns it", "—", "a—b must never c",
		"X depends on", "depends on X", "uses uses uses uses", "A, B and C use the D and the E, F", "\xff\xfe must \x80", "İstanbul'da must not", "ﬁ uses ﬂ", "(((((", "://", "/", "./", "a/b/c.go",
		"Ana:", ": must", "User:", "must", "at most 3", "Node: `b()` uses c()", "Note: no", "the the the service service", "PAYMENTS MUST NOT", "muss nicht darf nie", "ne doit jamais",
		"Payments uses calls redis.", "Payments uses uses redis", "payments calls uses depends on redis.", "redis is used by uses payments.", "b uses depends b",
		"Search must not", "A, b and the c are owned by d", "b depends on c, on d and on", "and depend on", "the must", "jobs in the b must", "The rules are:", "ne", "No toques", "Bitte", "Vor jedem", "Não faça", "Ne touche pas: rien", "Fass den",
		strings.Repeat("must ", 3000), strings.Repeat("é", 3000),
	} {
		f.Add(s, "payments")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		reading.OrdersEachTime(text)
		if !utf8.ValidString(text) || strings.TrimSpace(text) == "" || len(text) > ken.MaxTextBytes {
			c := ken.Claim{Text: text, Kind: ken.KindFact} // no store takes it, and nothing may break
			holds(t, text, reading.Read(&c, nil))
			return
		}
		c := claim(text, name)
		c.Project = name
		first := reading.Read(&c, names{"payments": true, "b": true})
		holds(t, text, first)
		holds(t, text, reading.Read(&c, everything{}))
		if e := analysis.Entity(name); e != "" && !slices.ContainsFunc(first.Entities[:min(len(first.Entities), 2)], func(m reading.Mention) bool { return m.Name == e }) {
			t.Errorf("%q: the given name %q is not among the first two: %+v", text, e, first.Entities)
		}
		reading.Assign(&c, nil)
		if again := c; reading.Assign(&again, nil) {
			t.Errorf("%q was assigned twice", text)
		}
	})
}

// everything knows every name.
type everything struct{}

func (everything) Known(list []string) []bool {
	out := make([]bool, len(list))
	for i := range out {
		out[i] = true
	}
	return out
}

// FuzzReadOfKnownNames puts known names and the words that relate them into any order: the
// text of a fuzzer alone hardly ever makes a sentence of them.
func FuzzReadOfKnownNames(f *testing.F) {
	words := strings.Fields("payments b redis ledger the our its uses calls requires needs owns blocks informs depends on is are used owned by for in and , or . ; : which that who it they we I must " +
		"not never only if because using called via through to of from with than both either \" ' ` ( ) — ? ! 15 Fridays service Olga while so")
	f.Add([]byte{0, 7, 8, 2, 27})
	f.Add([]byte{0, 7, 7, 2, 27, 0, 15, 16, 2, 24, 3})
	f.Add([]byte{1, 19, 20, 15, 16, 0, 40, 7, 8, 9, 10})
	f.Fuzz(func(t *testing.T, order []byte) {
		var b strings.Builder
		for _, o := range order[:min(len(order), 200)] {
			if w := words[int(o)%len(words)]; o < 128 || b.Len() == 0 {
				b.WriteString(" " + w)
			} else { // as one word with the last
				b.WriteString(w)
			}
		}
		text := strings.TrimSpace(b.String())
		if text == "" {
			return
		}
		c := claim(text)
		holds(t, text, reading.Read(&c, names{"payments": true, "b": true, "redis": true, "ledger": true}))
		holds(t, text, reading.Read(&c, everything{}))
	})
}

func FuzzVariants(f *testing.F) {
	for _, s := range []string{"payments service", "PaymentsService", "payments/api.go", "snake_case_name", "HTTPServer", "ken.Claim", "/", ".", "`x`", "a/..", "()", "\" 1", "invoices", "ledger entries"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list := reading.Variants(s)
		if len(list) > 8 {
			t.Errorf("%q: %d variants", s, len(list))
		}
		for i, v := range list {
			if v == "" || v != analysis.Entity(v) || reading.Common(v) || slices.Contains(list[:i], v) {
				t.Errorf("%q: %q", s, list)
			}
		}
	})
}

// A store may answer with fewer names than asked, and a text may be a megabyte.
func TestReadIsBounded(t *testing.T) {
	long := strings.Repeat("the payments service depends on the ledger and must stay on PostgreSQL. ", 14000)
	c := claim(long)
	r := reading.Read(&c, counting{t})
	holds(t, long[:80], r)
	if r.Constraint {
		t.Error("a text of a megabyte is a rule")
	}
	if r.Entities[0].Name != "payments" {
		t.Errorf("about %v", r.Entities)
	}
}

type counting struct{ t *testing.T }

func (c counting) Known(list []string) []bool {
	if len(list) > 4*reading.MaxBytes {
		c.t.Errorf("asked for %d names", len(list))
	}
	return make([]bool, len(list)/2)
}

// Reading twice, and from many goroutines, gives the same.
func TestReadIsDeterministic(t *testing.T) {
	c := claim("We use Redis in the payments service, owned by Ada; never deploy it on Fridays.")
	want := reading.Read(&c, names{"ada": true})
	for range 50 {
		got := reading.Read(&c, names{"ada": true})
		if got.Aspect != want.Aspect || !slices.Equal(got.Entities, want.Entities) || !slices.Equal(got.Dependencies, want.Dependencies) {
			t.Fatalf("%+v, then %+v", want, got)
		}
	}
}
