package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

const minShortID = 6

// short is an id as a hint shows it.
func short(id string) string { return id[:min(len(id), 8)] }

// Get returns one job by its id or a unique prefix of at least six characters.
// Errors: ErrNotFound; ErrInvalid when several fit; ErrCorrupt.
func (q *Queue) Get(ctx context.Context, id string) (Job, error) {
	var out Job
	err := q.shelf.View(ctx, func(r store.ShelfReader) error {
		j, err := find(r, id)
		if err == nil {
			out = *j
		}
		return err
	})
	return out, err
}

func find(r store.ShelfReader, id string) (*Job, error) {
	full, err := resolve(r, id)
	if err != nil {
		return nil, err
	}
	return load(r, full)
}

// resolve completes an id.
func resolve(r store.ShelfReader, id string) (string, error) {
	none := &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: fmt.Sprintf("no job %q", id), Try: "List them with ken jobs."}
	if len(id) < minShortID {
		return "", none
	}
	var found []string
	for key := range r.Scan(jobPrefix + id) {
		found = append(found, key[len(jobPrefix):])
	}
	switch {
	case len(found) == 0:
		return "", none
	case len(found) > 1 && found[0] != id:
		return "", &ken.Error{Code: ken.CodeInvalid, Field: "id", Msg: fmt.Sprintf("%q fits %d jobs", id, len(found)),
			Try: "Give more characters of the id."}
	}
	return found[0], nil
}

// List returns the jobs in these states, or all when none is named, sorted by
// when they are due, then by id. A job that can't be read does not hide the
// others: they come with an ErrCorrupt that names it.
func (q *Queue) List(ctx context.Context, states ...State) ([]Job, error) {
	var out []Job
	var bad []error
	err := q.shelf.View(ctx, func(r store.ShelfReader) error {
		out, bad = nil, nil
		for key, value := range r.Scan(jobPrefix) {
			j, err := decode(key[len(jobPrefix):], value)
			if err != nil {
				bad = append(bad, err)
			} else if len(states) == 0 || slices.Contains(states, j.State) {
				out = append(out, *j)
			}
		}
		return nil
	})
	slices.SortFunc(out, func(a, b Job) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.ID, b.ID)) })
	return out, errors.Join(append(bad, err)...)
}
