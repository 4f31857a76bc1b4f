package access

import (
	"context"
	"slices"
	"strconv"
	"strings"

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
)

// Rights lists every right, the weakest first. The caller owns the slice.
func Rights() []Right { return []Right{Chat, Read, Write, Operate} }

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

// Principal is who a request comes from. The zero value may do nothing.
type Principal struct {
	Name    string  // of the key; "local" where there are none
	Owner   string  // whose knowledge it works with; never empty unless Principal is zero
	Project string  // that its turns belong to; "" for none
	Rights  []Right // never modified once the Principal was handed out
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
		Try: "Use a key with that right, or add it to the key's rights under gateway.keys."}
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
