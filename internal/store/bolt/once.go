package bolt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// doOnce is do for a write whose result the caller needs. Under the name that ctx
// gives the write (see store.WithCommit) it is done once: done again, it changes
// nothing, and result is what it was the first time. It is set by fn, and must
// survive JSON.
func (s *Store) doOnce(ctx context.Context, result any, fn func(*txn) error) error {
	return s.submit(ctx, &request{fn: fn, commit: store.CommitOf(ctx), result: result, done: make(chan error, 1)})
}

// goodName refuses a write's name that does not say when it was made: it would be
// forgotten at any time.
func goodName(id uuid.UUID) error {
	if id == uuid.Nil || id.Version() == 7 {
		return nil
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: "commit", Msg: fmt.Sprintf("%s is not a UUID of version 7", id),
		Try: "Name the write with uuid.NewV7."}
}

// apply runs the request, unless it was done before under the same name. What
// changed nothing leaves no name: done again, it is done later.
func (r *request) apply(t *txn) error {
	if r.commit == uuid.Nil {
		return r.fn(t)
	}
	if was := t.committed(r.commit); was != nil {
		if r.result == nil {
			return nil
		}
		if err := json.Unmarshal(was, r.result); err != nil {
			return &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("read the result of write %s", r.commit), Err: err,
				Try: "Look whether the change is there before you repeat it."}
		}
		return nil
	}
	if err := r.fn(t); err != nil {
		return err
	}
	if l := t.mine; len(l.records) == 0 && len(l.events) == 0 && len(l.docs) == 0 {
		return nil
	}
	result, err := json.Marshal(r.result)
	if err != nil {
		return err
	}
	t.mine.commits[r.commit] = result
	return nil
}

// wasDone reports whether the write of ctx's name was done before, and sets result
// to what it returned then.
func (s *Store) wasDone(ctx context.Context, result any) (was bool, err error) {
	id := store.CommitOf(ctx)
	if id == uuid.Nil {
		return false, nil
	}
	err = s.view(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bCommits).Get(id[:])
		if was = b != nil; !was {
			return nil
		}
		return json.Unmarshal(b, result)
	})
	return was, err
}

// committed is the result that a write left under its name; nil when there was none.
func (t *txn) committed(id uuid.UUID) []byte {
	if result, ok := t.batch.commits[id]; ok {
		return result
	}
	return t.tx.Bucket(bCommits).Get(id[:])
}

// pruneCommits is how many old names a transaction takes away at most: more than
// it adds, on the whole.
const pruneCommits = 64

// keepCommits writes the names of a transaction's writes, and forgets old ones: by
// the times in the names themselves, which are of one machine.
func keepCommits(tx *bbolt.Tx, results map[uuid.UUID][]byte) error {
	if len(results) == 0 {
		return nil
	}
	b := tx.Bucket(bCommits)
	newest := time.Time{}
	for id, result := range results {
		if err := b.Put(id[:], result); err != nil {
			return err
		}
		if at := madeAt(id); at.After(newest) {
			newest = at
		}
	}
	var old [][]byte
	cur := b.Cursor()
	for k, _ := cur.First(); len(k) == len(uuid.UUID{}) && len(old) < pruneCommits; k, _ = cur.Next() {
		if newest.Sub(madeAt(uuid.UUID(k))) <= store.CommitsKept {
			break
		}
		old = append(old, bytes.Clone(k))
	}
	for _, k := range old {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// madeAt is when a UUID of version 7 was made, to the millisecond.
func madeAt(id uuid.UUID) time.Time {
	ms := int64(0)
	for _, c := range id[:6] {
		ms = ms<<8 | int64(c)
	}
	return time.UnixMilli(ms)
}
