package generate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/retriever/knownitem"
	"github.com/kenlayer/ken/store"
)

// Source yields everything that a turn could find. It is called several times, and must
// yield the same each time.
type Source func(ctx context.Context) iter.Seq2[ken.Claim, error]

// FromStore returns a Source for what f lets a turn find in a store: claims, and
// indexed chunks of the repository.
func FromStore(s store.Engine, f ken.Filter) Source {
	return func(ctx context.Context) iter.Seq2[ken.Claim, error] {
		return func(yield func(ken.Claim, error) bool) {
			left := s.Len()
			for ref := uint32(0); left > 0; ref++ {
				row, ok := s.Row(ref)
				if !ok {
					continue
				}
				left--
				if f.Reject(row.Facts) != "" {
					continue
				}
				c, err := s.Claim(ctx, ref)
				if errors.Is(err, ken.ErrNotFound) { // forgotten meanwhile
					continue
				}
				if err == nil {
					err = ctx.Err()
				}
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
	}
}

// Options tunes Make. The zero value is the default.
type Options struct {
	N     int              // total number of questions; 0 means knownitem.DefaultN
	Seed  uint64           // another seed, other questions
	Kinds []knownitem.Kind // which kinds, in equal shares; nil means all
	// Progress is called with the number of records read so far; the total is unknown.
	// May be nil.
	Progress func(stage string, done, total int)
}

// KindModel is the kind of a question that a model wrote.
const KindModel knownitem.Kind = "model"

// Set is a data set being made. It must not be used concurrently.
type Set struct {
	Questions []knownitem.Question
	Records   int                    // in the corpus
	Lacking   map[knownitem.Kind]int // by how many a kind falls short of its share
	Model     string                 // model that wrote the questions; "" for the rules
	Refused   int                    // questions left out because the model wrote none that could be used

	o      Options
	src    Source
	wanted map[string]ken.Claim // claims that the questions are about, by id
}

// Make makes a set's questions by rules. Errors: ErrInvalid for invalid options and for
// knowledge from which no question can be made; the source's errors; ctx's own.
func Make(ctx context.Context, src Source, o Options) (*Set, error) {
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	made, err := knownitem.Generate(ctx, counted(ctx, src, "read", o.Progress), knownitem.Options{N: o.N, Seed: o.Seed, Kinds: o.Kinds,
		Filter: ken.Filter{Statuses: ken.Statuses()}}) // the source decides what is visible
	if err != nil {
		return nil, err
	}
	s := &Set{Questions: made.Questions, Records: made.Read, Lacking: made.Lacking, o: o, src: src, wanted: map[string]ken.Claim{}}
	for _, q := range s.Questions {
		if q.Want != "" {
			s.wanted[q.Want] = ken.Claim{}
		}
	}
	if len(s.wanted) == 0 && (len(o.Kinds) == 0 || slices.ContainsFunc(o.Kinds, knownitem.Kind.Answered)) {
		return nil, &ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("no question can be made of %d records", s.Records),
			Try: "Index the project with ken index, or keep claims with ken learn or ken import, and try again."}
	}
	for c, err := range src(ctx) {
		if err != nil {
			return nil, fmt.Errorf("read claims: %w", err)
		}
		if _, ok := s.wanted[c.ID]; ok {
			s.wanted[c.ID] = c
		}
	}
	return s, nil
}

// counted reports progress while the source is read.
func counted(ctx context.Context, src Source, stage string, progress func(string, int, int)) iter.Seq2[ken.Claim, error] {
	return func(yield func(ken.Claim, error) bool) {
		n := 0
		for c, err := range src(ctx) {
			n++
			progress(stage, n, 0)
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// Counts returns the number of questions of each kind.
func (s *Set) Counts() map[knownitem.Kind]int {
	out := map[knownitem.Kind]int{}
	for _, q := range s.Questions {
		out[q.Kind]++
	}
	return out
}
