package analysis_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
)

func TestEntitySpellsOneThingOneWay(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"The Payments-Service", "payments service"},
		{"payments_service", "payments service"},
		{"  payments   service ", "payments service"},
		{"payments‑service", "payments service"}, // a hyphen that does not break
		{"Ada's", "ada"},
		{"Ada’s", "ada"},
		{"the developers'", "developers"},
		{"Ada's team", "ada's team"},
		{"“PostgreSQL”", "postgresql"},
		{"`ken.Claim`", "ken.claim"},
		{"(the ledger)", "ledger"},
		{"[[ledger]]", "ledger"},
		{"the ledger.", "ledger"},
		{"C++", "c++"},
		{"C#", "c#"},
		{".NET", ".net"},
		{"node.js", "node.js"},
		{"structure/reading/read.go", "structure/reading/read.go"},
		{"PostgreSQL 15.2", "postgresql 15.2"},
		{"Zoë", "zoe"},
		{"ＡＢＣ", "abc"},
		{"Straße", "strasse"},
		{"北京", "北京"},
		{"a", "a"},
		{"the", "the"}, // an article alone is all there is
		{"the the ledger", "ledger"},
		{"our own ledger", "own ledger"},
		{"__init__", "init"},
		{"", ""},
		{" -_- ", ""},
		{"...", ""},
		{"…!?", ""},
		{"'s", "s"},
		{"b\x00c", "b c"},
		{strings.Repeat("long ", 30), ""},
		{strings.Repeat("ü", 120), strings.Repeat("u", 120)},
		{strings.Repeat("日", 120), strings.Repeat("日", 120)},
		{strings.Repeat("日", 121), ""},
	} {
		if got := analysis.Entity(tt.in); got != tt.want {
			t.Errorf("Entity(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// What is spelled once stays as it is: names are compared as they are stored.
func FuzzEntity(f *testing.F) {
	for _, s := range []string{"The Payments-Service", "Ada's", "'s's", "the 'the' x", "a.'", "x.'s", "`.`", "the-a-the", "«x»’s", "ſ's", "Ⅷ..", "ﬃ", "a\u0301's", "\xff", "…a…", "x....'s'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := analysis.Entity(s)
		if again := analysis.Entity(once); again != once {
			t.Errorf("Entity(%q) = %q, and of that %q", s, once, again)
		}
		if utf8.RuneCountInString(once) > 120 || utf8.ValidString(s) && !utf8.ValidString(once) {
			t.Errorf("Entity(%q) = %q", s, once)
		}
		if strings.TrimSpace(once) != once || strings.Contains(once, "  ") {
			t.Errorf("Entity(%q) = %q has spaces around or two in a row", s, once)
		}
	})
}
