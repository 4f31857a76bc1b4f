package facet

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/topk"
)

// Values lists what claims have of a facet, the most frequent value first, for
// choosing one of many: those that begin with prefix, whole or at one of their parts,
// such as the name of a file at the end of its path. Case does not matter. The counts
// are of all claims that are not structural. A limit of 0 and less is 50, and 500 is
// the most. Errors: ErrInvalid for a facet that is none; ErrUnavailable for an owner
// whose claims were not read yet.
func (x *Index) Values(owner, facet, prefix string, limit int) (out []Value, err error) {
	f := slices.Index(names[:], facet)
	if f < 0 {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "facet", Msg: "unknown facet " + strconv.Quote(facet),
			Try: "Use one of " + strings.Join(names[:], ", ") + "."}
	}
	if limit <= 0 {
		limit = DefaultLimit
	}
	err = x.read(owner, func(t *table) {
		s := x.run(t, &Selection{}, nil)
		defer s.letGo()
		values, first := s.tally(f)
		best := topk.New[counted](min(limit, MaxLimit))
		for code := first; code < len(values); code++ {
			if n := s.count[code]; n > 0 && begins(values[code], prefix) {
				best.Offer(counted{values[code], uint32(code), n})
			}
		}
		for _, c := range best.Sorted() {
			out = append(out, Value{Value: c.name, Count: int(c.n)})
		}
	})
	return out, err
}

// begins reports whether a value or one of its parts begins with a prefix.
func begins(value, prefix string) bool {
	for at, start := 0, true; at < len(value); {
		r, n := utf8.DecodeRuneInString(value[at:])
		if start && startsFold(value[at:], prefix) {
			return true
		}
		start = strings.ContainsRune(" /:._-@#", r)
		at += n
	}
	return prefix == ""
}

// startsFold is strings.HasPrefix, whatever the case.
func startsFold(s, prefix string) bool {
	for len(prefix) > 0 {
		a, n := utf8.DecodeRuneInString(s)
		b, m := utf8.DecodeRuneInString(prefix)
		if n == 0 || !strings.EqualFold(s[:n], prefix[:m]) || (a == utf8.RuneError) != (b == utf8.RuneError) {
			return false
		}
		s, prefix = s[n:], prefix[m:]
	}
	return true
}
