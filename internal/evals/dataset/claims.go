package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/jsonl"
)

// openClaims reads an export of Ken's and the questions beside it. Relevant ids
// are the claims' ids or keys.
func openClaims(ctx context.Context, path, questions string, o Options) (*Set, error) {
	s := &Set{Format: FormatClaims, records: func(ctx context.Context) iter.Seq2[Record, error] { return claims(ctx, path) }}
	var err error
	s.Queries, err = Questions(ctx, cmp.Or(o.Questions, questions))
	for i := range s.Queries { // one owner's claims know no conversation
		s.Queries[i].Conv = ""
	}
	return s, err
}

func claims(ctx context.Context, path string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		name := filepath.Base(path)
		f, err := os.Open(path)
		if err != nil {
			yield(Record{}, unreadable(path, err))
			return
		}
		defer f.Close()
		for l := range jsonl.Read(f, name) {
			r := Record{ID: cmp.Or(l.Claim.ID, l.Claim.Key), Session: l.Claim.Session, Claim: &l.Claim, Prior: l.History,
				Place: fmt.Sprintf("%s:%d", name, l.N)}
			err := ctx.Err()
			if l.Err != nil {
				err = claimFault(name, l.N, l.Err)
			}
			if r.ID == "" {
				r.ID = r.Place
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// claimFault adds the line to what is wrong with a claim.
func claimFault(name string, n int, err error) error {
	var e *ken.Error
	if errors.As(err, &e) {
		return at(name, n, e.Field, e.Msg, cmp.Or(e.Try, "Correct the line."))
	}
	if errors.Is(err, fs.ErrPermission) {
		return unreadable(name, err)
	}
	return err
}
