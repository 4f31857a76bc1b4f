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

// Source yields everything that a turn could find. It is read several times, and
// yields the same each time.
type Source func(ctx context.Context) iter.Seq2[ken.Claim, error]

// FromStore is what f lets a turn find in a store: claims, and pieces of the
// repository as far as they are indexed.
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
	N     int              // questions in all; 0 means knownitem.DefaultN
	Seed  uint64           // another seed, other questions
	Kinds []knownitem.Kind // which kinds, in equal shares; nil means all
	// Progress is told how many records have been read; the total is not known. May
	// be nil.
	Progress func(stage string, done, total int)
}

// KindModel is the kind of a question that a model made.
const KindModel knownitem.Kind = "model"

// Set is a data set in the making. It belongs to one goroutine.
type Set struct {
	Questions []knownitem.Question
	Records   int                    // in the corpus
	Lacking   map[knownitem.Kind]int // how many fewer than its share a kind has
	Model     string                 // that made the questions; "" for the rules
	Refused   int                    // questions left out because the model gave none that could be used

	o      Options
	src    Source
	wanted map[string]ken.Claim // by id: what the questions are about
}

// Make makes a set's questions by rule. Errors: ErrInvalid for options that make
// no sense and for knowledge that no question can be made of, the source's, and
// ctx's own.
func Make(ctx context.Context, src Source, o Options) (*Set, error) {
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	made, err := knownitem.Generate(ctx, counted(ctx, src, "read", o.Progress), knownitem.Options{N: o.N, Seed: o.Seed, Kinds: o.Kinds,
		Filter: ken.Filter{Statuses: ken.Statuses()}}) // the source decides what is seen
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

// counted tells how far the source has been read.
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

// Counts is how many questions there are of each kind.
func (s *Set) Counts() map[knownitem.Kind]int {
	out := map[knownitem.Kind]int{}
	for _, q := range s.Questions {
		out[q.Kind]++
	}
	return out
}
