package shell

import (
	"path"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// maxLiteral is the maximum length of a quoted text that is kept, in
// characters. A pattern or a test's name is shorter, a message or a program
// longer.
const maxLiteral = 40

var volatile = []struct {
	re *lazyregexp.Regexp
	to string
}{
	{lazyregexp.New(`(?:/private)?/tmp/[^\s"':]*|/var/(?:folders|tmp)/[^\s"':]*|/dev/shm/[^\s"':]*|\$\{?TMPDIR\}?/?[^\s"':]*|\$\(mktemp[^)]*\)`), "<tmp>"},
	{lazyregexp.New(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`), "<id>"},
	{lazyregexp.New(`\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b`), "<time>"},
	{lazyregexp.New(`\b\d{8}[-_T]?\d{6}Z?\b|\b\d{10,}\b`), "<time>"},
	{lazyregexp.New(`((?:localhost|\d+\.\d+\.\d+\.\d+|\[::1?\]):)\d{2,5}\b`), "${1}<port>"},
	{lazyregexp.New(`((?:^|\s)(?:--?port|-p)[ =])\d{4,5}\b`), "${1}<port>"},
	{lazyregexp.New(`(?:/home|/Users)/[^/\s"':]+`), "~"},
}

var hexWord = lazyregexp.New(`\b[0-9a-f]{7,64}\b`)

// messages holds options that take a text which is new each time, by program.
var messages = map[string]map[string]bool{
	"git":  set("-m --message -am -F"),
	"curl": set("-d --data --data-raw -H"),
	"gh":   set("--title --body --notes"),
}

// stableForm returns a simple command in a form that is the same for each run of
// it.
func stableForm(words []word, root string) string {
	out := make([]string, 0, len(words))
	for i, w := range words {
		raw := w.raw
		isMessage := i > 0 && messages[path.Base(words[0].value)][words[i-1].value]
		if isMessage || strings.ContainsAny(raw, `"'`) && utf8.RuneCountInString(w.value) > maxLiteral {
			raw = `"…"`
		}
		if root != "" {
			raw = strings.ReplaceAll(raw, strings.TrimSuffix(root, "/")+"/", "")
		}
		out = append(out, raw)
	}
	s := strings.Join(out, " ")
	for _, v := range volatile {
		s = v.re.ReplaceAllString(s, v.to)
	}
	return hexWord.ReplaceAllStringFunc(s, func(h string) string {
		if strings.ContainsAny(h, "0123456789") && strings.ContainsAny(h, "abcdef") {
			return "<hash>"
		}
		return h
	})
}
