package classify_test

import (
	"strings"

	"github.com/kenlayer/ken/store"
)

// dropMarks forgets how far the log was gone through.
func dropMarks(tx store.ShelfTx) error {
	var keys []string
	for key := range tx.Scan("classify/") {
		if !strings.HasSuffix(key, "counts") {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	return nil
}
