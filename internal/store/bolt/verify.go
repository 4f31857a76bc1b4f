package bolt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// VerifyLog computes the hash chain again, from the first event to the last. It
// fails with ken.ErrCorrupt at the first event that does not follow; the report
// counts those before it.
func (s *Store) VerifyLog(ctx context.Context) (store.LogReport, error) {
	r := store.LogReport{Owner: s.o.Owner}
	bad := func(err error) error {
		return &ken.Error{Code: ken.CodeCorrupt, Msg: "the log does not verify", Err: err,
			Try: "Restore the store from a backup; events before that one are good."}
	}
	var prev [sha256.Size]byte
	for ev, err := range s.Events(ctx, 1) {
		if err != nil {
			return r, err
		}
		if ev.Seq != r.Events+1 {
			return r, bad(fmt.Errorf("event %d is missing", r.Events+1))
		}
		if err := ev.Verify(prev); err != nil {
			return r, bad(err)
		}
		prev = ev.Hash
		r.Events++
		if ev.Erased() {
			r.Erased++
		}
		if r.Events%10_000 == 0 {
			s.o.Progress("verify", int(r.Events), int(s.seq.Load()))
		}
	}
	r.Head = hex.EncodeToString(prev[:])
	// Writers may have gone on since the last page was read, and what is written shows in
	// Events a moment later: both ends of the log are from one transaction.
	err := s.view(func(tx *bbolt.Tx) error {
		last, _ := tx.Bucket(bEvents).Cursor().Last()
		head := tx.Bucket(bMeta).Get(kHead)
		if r.Events > 0 && bytes.Equal(last, key64(r.Events)) && !bytes.Equal(head, prev[:]) {
			return bad(fmt.Errorf("the last events are missing"))
		}
		return nil
	})
	return r, err
}
