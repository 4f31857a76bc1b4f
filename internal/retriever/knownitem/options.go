package knownitem

import (
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
)

// DefaultN is how many questions a zero Options asks for.
const DefaultN = 200

// Options tunes Generate. The zero value is the default.
type Options struct {
	N     int    // questions in all; 0 means DefaultN
	Seed  uint64 // another seed, other questions
	Kinds []Kind // which kinds, in equal shares; nil means all
	// Filter says which claims may be asked for; zero is what recall sees by
	// default. What it refuses still counts as being in the collection.
	Filter ken.Filter
	// Has reports whether a term of package analysis occurs in the collection. Set
	// it when Generate does not see the whole collection; nil goes by the claims
	// that were read.
	Has func(term string) bool
}

func (o Options) withDefaults() (Options, error) {
	if o.N < 0 {
		return o, &ken.Error{Code: ken.CodeInvalid, Field: "n", Msg: "negative", Try: "Ask for one question or more."}
	}
	if o.N == 0 {
		o.N = DefaultN
	}
	if o.Kinds == nil {
		o.Kinds = Kinds()
	}
	for i, k := range o.Kinds {
		if !slices.Contains(Kinds(), k) {
			return o, &ken.Error{Code: ken.CodeInvalid, Field: "kinds", Msg: fmt.Sprintf("unknown kind %q", k),
				Try: fmt.Sprintf("Use some of %v.", Kinds())}
		}
		if slices.Contains(o.Kinds[:i], k) {
			return o, &ken.Error{Code: ken.CodeInvalid, Field: "kinds", Msg: fmt.Sprintf("%q twice", k), Try: "Name each kind once."}
		}
	}
	return o, nil
}

// Set is what Generate made.
type Set struct {
	Questions []Question   `json:"questions"`        // kinds take turns, and within a kind the sources do
	Read      int          `json:"read"`             // claims that were looked at
	Lacking   map[Kind]int `json:"lacking,omitzero"` // how many fewer than its share a kind has; other kinds fill up
}
