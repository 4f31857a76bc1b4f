package table_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/embed/table"
)

func words(text string) []string {
	var all []string
	table.Words(text, func(w []byte) { all = append(all, string(w)) })
	return all
}

func TestWords(t *testing.T) {
	long := strings.Repeat("a", 100)
	for text, want := range map[string][]string{
		"":                           nil,
		" \n.,-":                     nil,
		"Hello, world":               {"hello", "world"},
		"getUserName":                {"get", "user", "name"},
		"HTTPServerTimeout":          {"http", "server", "timeout"},
		"parse_URLs":                 {"parse", "url", "s"},
		"URLsOf":                     {"url", "s", "of"},
		"utf8Valid v2.13":            {"utf", "8", "valid", "v", "2", "13"},
		"store/bolt/open_test.go":    {"store", "bolt", "open", "test", "go"},
		"2023-05-07":                 {"2023", "05", "07"},
		"Caroline's":                 {"caroline", "s"},
		"Café Ångström straße œuvre": {"cafe", "angstrom", "strasse", "oeuvre"},
		"cafe\u0301":                 {"cafe"},
		"ﬁle":                        {"file"},
		"Война и мир":                {"воина", "и", "мир"},
		"日本 go":                      {"日", "本", "go"},
		"a\xffb":                     {"a", "b"},
		long:                         {long[:64], long[64:]},
	} {
		if diff := cmp.Diff(want, words(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{"getHTTPServer2", "ÅsaÉ", "日本語", "a\xffb", "URLs", "Ǆ ŉ ﬃ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, w := range words(text) {
			if w == "" || !utf8.ValidString(w) || len(w) > 128 {
				t.Fatalf("%q has the word %q", text, w)
			}
			for _, r := range w {
				if unicode.IsUpper(r) && unicode.ToLower(r) != r || unicode.IsSpace(r) {
					t.Fatalf("%q has the word %q", text, w)
				}
			}
		}
	})
}
