package access

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// Right is a permission of a Principal.
type Right string

// The rights; there are no others.
const (
	Chat    Right = "chat"    // model calls through the gateway
	Read    Right = "read"    // search and read the owner's knowledge
	Write   Right = "write"   // learn, verify, dispute: knowledge with an agent's trust
	Operate Right = "operate" // forget, approve, dismiss, jobs, export, the receipts of all

	// Upstream allows every path of the upstream besides model calls, with the gateway's
	// upstream key: files, batches, the organization's settings.
	Upstream Right = "upstream"
)

// Rights lists every right. The caller owns the slice.
func Rights() []Right { return []Right{Chat, Read, Write, Operate, Upstream} }

// ParseRight returns the right with this name. Errors: ErrInvalid for an unknown name.
func ParseRight(s string) (Right, error) {
	if r := Right(s); slices.Contains(Rights(), r) {
		return r, nil
	}
	var names []string
	for _, r := range Rights() {
		names = append(names, string(r))
	}
	return "", &ken.Error{Code: ken.CodeInvalid, Field: "rights", Msg: "unknown right " + strconv.Quote(s),
		Try: "Use " + strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1] + "."}
}

// Local is the Principal's name when no keys are configured.
const Local = "local"

// Principal is the sender of a request. The zero value has no rights.
type Principal struct {
	Name    string  // the key's name; Local without keys
	Owner   string  // the owner whose knowledge it works with; never empty unless Principal is zero
	Project string  // project of its turns; "" for none
	Rights  []Right // not modified after the Principal is created

	Models         []string  // patterns of the models that it may use, see Match; nil allows all
	Expires        time.Time // when the key expires; zero for never
	RequestsPerDay int       // UTC days; 0 means no limit
	TokensPerDay   int       // UTC days; 0 means no limit
}

// Expired reports whether p's key has expired at a time.
func (p Principal) Expired(now time.Time) bool { return !p.Expires.IsZero() && !now.Before(p.Expires) }

// Limited reports whether p may use only some models or has a daily limit.
func (p Principal) Limited() bool {
	return len(p.Models) > 0 || p.RequestsPerDay > 0 || p.TokensPerDay > 0
}

// Allows reports whether p may use a model.
func (p Principal) Allows(model string) bool {
	return len(p.Models) == 0 || slices.ContainsFunc(p.Models, func(pattern string) bool { return Match(pattern, model) })
}

// Match reports whether a pattern matches a whole name. In a pattern, * matches any
// characters or none: claude-*, */gpt-5. Matching is case-sensitive.
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

// Can reports whether p has a right. No right includes another one: a Principal that may
// write may not read unless Read is listed too.
func (p Principal) Can(r Right) bool { return slices.Contains(p.Rights, r) }

// Asked reports whether a turn or session that came with the key of this name is p's own, so that p may see what was said
// in it. Without a key, turns are nobody's own.
func (p Principal) Asked(key string) bool {
	return key != "" && key == p.Name && key != Local && p.Can(Chat)
}

// Need returns nil if p has a right, and otherwise an ErrRefused that names the missing
// right.
func (p Principal) Need(r Right) error {
	if p.Can(r) {
		return nil
	}
	return &ken.Error{Code: ken.CodeRefused, Msg: "this key lacks the right " + strconv.Quote(string(r)),
		Try: "Use a key with that right, or make one with it: ken key create NAME --rights."}
}

type contextKey struct{}

// With returns a context that carries p.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From returns the Principal that ctx carries, or the zero Principal, which has no rights.
func From(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}
