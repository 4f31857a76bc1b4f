package access

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// Right is something that a Principal may do.
type Right string

// The closed set of rights.
const (
	Chat    Right = "chat"    // model calls through the gateway
	Read    Right = "read"    // search and look at what its owner knows
	Write   Right = "write"   // learn, verify, dispute: knowledge with an agent's trust
	Operate Right = "operate" // forget, approve, dismiss, jobs, export, the receipts of all

	// Upstream is every path of the upstream beside model calls, with the upstream key
	// that the gateway lends: files, batches, the organization's settings.
	Upstream Right = "upstream"
)

// Rights lists every right. The caller owns the slice.
func Rights() []Right { return []Right{Chat, Read, Write, Operate, Upstream} }

// ParseRight reads a right's name; an unknown one is ErrInvalid.
func ParseRight(s string) (Right, error) {
	if r := Right(s); slices.Contains(Rights(), r) {
		return r, nil
	}
	var names []string
	for _, r := range Rights() {
		names = append(names, string(r))
	}
	return "", &ken.Error{Code: ken.CodeInvalid, Field: "rights", Msg: "no right is called " + strconv.Quote(s),
		Try: "Use " + strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1] + "."}
}

// Local is the name of whoever asks where there are no keys.
const Local = "local"

// Principal is who a request comes from. The zero value may do nothing.
type Principal struct {
	Name    string  // of the key; Local where there are none
	Owner   string  // whose knowledge it works with; never empty unless Principal is zero
	Project string  // that its turns belong to; "" for none
	Rights  []Right // never modified once the Principal was handed out

	Models         []string  // patterns of the models that it may ask, see Match; nil for all
	Expires        time.Time // when the key ends; zero for never
	RequestsPerDay int       // a day in UTC; 0 is no limit
	TokensPerDay   int       // a day in UTC; 0 is no limit
}

// Expired reports whether p's key has ended at a time.
func (p Principal) Expired(now time.Time) bool { return !p.Expires.IsZero() && !now.Before(p.Expires) }

// Limited reports whether p may not ask every model, or not as much as it likes.
func (p Principal) Limited() bool {
	return len(p.Models) > 0 || p.RequestsPerDay > 0 || p.TokensPerDay > 0
}

// Allows reports whether p may ask a model.
func (p Principal) Allows(model string) bool {
	return len(p.Models) == 0 || slices.ContainsFunc(p.Models, func(pattern string) bool { return Match(pattern, model) })
}

// Match reports whether a name matches a pattern as a whole. In a pattern, * stands for any
// characters or none: claude-*, */gpt-5. Case counts.
func Match(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	for ok {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(name, part)
		}
		_, name, ok = strings.Cut(name, part)
		rest = after
	}
	return false
}

// Can reports whether p has a right. It doesn't follow from another one: who may
// write may not read unless that is listed as well.
func (p Principal) Can(r Right) bool { return slices.Contains(p.Rights, r) }

// Need is nil when p has a right, and otherwise an ErrRefused that says which
// one is missing.
func (p Principal) Need(r Right) error {
	if p.Can(r) {
		return nil
	}
	return &ken.Error{Code: ken.CodeRefused, Msg: "this key lacks the right " + strconv.Quote(string(r)),
		Try: "Use a key with that right, or make one with it: ken key create NAME --rights."}
}

type contextKey struct{}

// With returns a context in which From finds p.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From returns who a request comes from; the zero Principal, which may do
// nothing, when nobody said so.
func From(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}
