package attention_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/store"
)

// What quotes it goes, whichever claim it is about, even if it can't be read; the rest
// stays.
func TestForgetWhatQuotesIt(t *testing.T) {
	each(t, func(k *kit) {
		k.reject(attention.Rejection{Text: "Priya's number is 4711", Why: "evidence: empty"})
		k.reject(attention.Rejection{Text: "the port is 8080", Why: "evidence: empty"})
		k.reject(attention.Rejection{Text: "she is away", Why: "there is no evidence that 4711 is hers"})
		k.mark(attention.ForgetRequested, "a", "it has the number 4711")
		k.mark(attention.DisputeRequested, "a", "too old")
		k.mark(attention.ForgetRequested, "b", "too old")
		err := k.Shelf().Update(t.Context(), func(tx store.ShelfTx) error {
			if err := tx.Put("attention/rejected/zzz", []byte(`{"text": "4711`)); err != nil {
				return err
			}
			return tx.Put("attention/mark/zzz", []byte("{"))
		})
		if err != nil {
			k.Fatal(err)
		}
		traces := attention.Traces{Claims: []string{"b", "c"}, Text: func(s string) bool { return strings.Contains(s, "4711") }}
		if n, err := attention.Holds(t.Context(), k.Shelf(), traces); err != nil || n != 5 {
			k.Errorf("there are %d, %v", n, err)
		}
		if n, err := attention.Forget(t.Context(), k.Shelf(), traces); err != nil || n != 5 {
			k.Errorf("%d went, %v", n, err)
		}
		var left []string
		err = k.Shelf().View(t.Context(), func(r store.ShelfReader) error {
			left = nil
			for _, prefix := range []string{"attention/mark/", "attention/rejected/"} {
				for _, v := range r.Scan(prefix) {
					left = append(left, string(v))
				}
			}
			return nil
		})
		if err != nil || len(left) != 3 || !strings.Contains(left[0], "too old") || left[1] != "{" || !strings.Contains(left[2], "8080") {
			k.Errorf("left: %q, %v", left, err)
		}
		if n, err := attention.Forget(t.Context(), k.Shelf(), traces); err != nil || n != 0 {
			k.Errorf("again: %d, %v", n, err)
		}
	})
}
