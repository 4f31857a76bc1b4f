package scorer

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/kenlayer/ken/store"
)

// Newer is a state as a later version would write it.
func Newer(t testing.TB) []byte {
	t.Helper()
	head := `{"version":99}`
	rest := append(binary.LittleEndian.AppendUint32(nil, uint32(len(head))), head...)
	return append(binary.LittleEndian.AppendUint32(magic[:], crc32.ChecksumIEEE(rest)), rest...)
}

// Learn calls Take in a transaction of its own. In the same transaction it calls also, unless that is nil.
func (l *Learner) Learn(ctx context.Context, outcomes []Outcome, also func(store.ShelfTx) error) error {
	if err := l.Load(ctx); err != nil {
		return err
	}
	var taken func()
	err := l.shelf.Update(ctx, func(tx store.ShelfTx) (err error) {
		if taken, err = l.Take(tx, outcomes); err != nil || also == nil {
			return err
		}
		return also(tx)
	})
	if err == nil {
		taken()
	}
	return err
}
