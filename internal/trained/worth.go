package trained

import (
	"context"
	"strconv"
	"strings"

	"github.com/kenlayer/ken/embed/builtin"
)

// worthFeatures returns the features of a sentence: its words, their order and kinds, and its vector.
func worthFeatures(text string) []feature {
	all := tokensOf(text)
	f := &features{}
	f.is("bias")
	kinds := map[kind]int{}
	prev, prev2 := "^", ""
	n := 0
	for i := range all {
		t := &all[i]
		w := t.word()
		if t.content() {
			kinds[t.kind]++
			n++
		}
		f.is("w", w)
		f.is("2", prev, w)
		if prev2 != "" && (t.empty || t.kind != plain) {
			f.is("3", prev2, prev, w)
		}
		if i < 3 {
			f.is("at", strconv.Itoa(i), w)
		}
		if i == 0 {
			f.is("first", string(t.kind))
		}
		prev2, prev = prev, w
	}
	f.is("last", prev)
	f.is("2", prev, "$")
	for _, k := range []kind{name, number, ident, month, plain, unspaced} {
		f.is("kinds", string(k), bucket(kinds[k]))
	}
	f.is("n", bucket(n/2))
	f.is("tokens", strconv.Itoa(min(len(all)/4, 8)))
	if strings.ContainsAny(text, "?？") {
		f.is("asks")
	}
	if strings.ContainsAny(text, "!！") {
		f.is("cries")
	}
	if m, err := builtin.Open(); err == nil {
		if v, err := m.Embed(context.Background(), []string{text}); err == nil {
			f.addVector(3, "v", v[0])
		}
	}
	return f.list
}
