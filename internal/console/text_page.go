package console

import (
	"io"
	"net/http"

	"github.com/kenlayer/ken/store"
)

// claimText is all that a claim says, as plain text, whatever its length.
func claimText(v *visit) error {
	return v.withStore(func(s store.Engine) error {
		c, err := s.Get(v.ctx(), v.r.PathValue("id"))
		if err != nil {
			return err
		}
		h := v.w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
		v.w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(v.w, c.Text) // the visitor is gone, if it fails
		return nil
	})
}
