package codegraph

import "github.com/kenlayer/ken"

// Page says which part of a list is asked for.
type Page struct {
	Limit  int // at most so many; 0 means DefaultLimit, at most MaxLimit
	Offset int // after so many
}

// Bounds of a Page.
const (
	DefaultLimit = 50
	MaxLimit     = 1000
	MaxOffset    = 1_000_000
)

func (p Page) check() (Page, error) {
	if p.Limit == 0 {
		p.Limit = DefaultLimit
	}
	if p.Limit < 0 || p.Limit > MaxLimit {
		return p, &ken.Error{Code: ken.CodeInvalid, Field: "limit", Msg: "is outside 1..1000", Try: "Ask for fewer, and for the next ones with the offset."}
	}
	if p.Offset < 0 || p.Offset > MaxOffset {
		return p, &ken.Error{Code: ken.CodeInvalid, Field: "offset", Msg: "is outside 0..1000000", Try: "Begin with 0."}
	}
	return p, nil
}

// cut returns the part of the first elements that a page asks for.
func cut[T any](first []T, p Page) []T {
	return first[min(p.Offset, len(first)):min(p.Offset+p.Limit, len(first))]
}
