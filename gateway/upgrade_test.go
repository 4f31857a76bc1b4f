package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// upgrading is an upstream that takes any offer of another protocol and then sends
// back what it gets.
func upgrading(t *testing.T) string {
	return upgradingTo(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", r.Header.Get("Upgrade"))
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.Copy(conn, rw) // until the other end is gone
	})
}

// upgradingTo is an upstream whose connections end with the test.
func upgradingTo(t *testing.T, h http.HandlerFunc) string {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}
