package exchange_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/embed/exchange"
)

func TestMessage(t *testing.T) {
	for _, tt := range []struct {
		status     int
		body, want string
		page       bool
	}{
		{400, `{"error": {"message": "no such model"}}`, "no such model", false},
		{400, `{"error": "no\u001b[31m\nsuch  model"}`, "no[31m such model", false},
		{422, `{"detail": "field required"}`, "field required", false},
		{500, "out of memory", "out of memory", false},
		{500, strings.Repeat("é", 300), strings.Repeat("é", 200) + "…", false},
		{502, " <html><title>Bad Gateway", "", true},
		{200, `{"error": {"message": "quota"}}`, "quota", false},
		{200, "what the user said", "", false},
		{400, `{"error": {"message": 7}}`, `{"error": {"message": 7}}`, false},
	} {
		x := exchange.Exchange{Status: tt.status, Header: http.Header{}, Body: []byte(tt.body)}
		if got := x.Message(); got != tt.want || x.IsPage() != tt.page {
			t.Errorf("%d %s: message %q, page %v", tt.status, tt.body, got, x.IsPage())
		}
	}
}

func TestThrottled(t *testing.T) {
	const at = "Fri, 27 Nov 2026 10:00:00 GMT"
	for _, tt := range []struct {
		after, date string
		want        time.Duration
	}{
		{"30", "", 30 * time.Second},
		{"9999999", "", 24 * time.Hour},
		{"Fri, 27 Nov 2026 10:01:00 GMT", at, time.Minute},
		{"Fri, 27 Nov 2026 09:00:00 GMT", at, 0},
		{"Fri, 27 Nov 2099 10:00:00 GMT", "", 24 * time.Hour},
		{"", "", -1},
		{"-5", "", -1},
		{"soon", at, -1},
	} {
		x := exchange.Exchange{Header: http.Header{"Retry-After": {tt.after}, "Date": {tt.date}}}
		got := time.Duration(-1)
		if e := (*embed.Throttled)(nil); errors.As(x.Throttled(), &e) {
			got = e.After
		}
		if got != tt.want {
			t.Errorf("Retry-After %q at %q: %v, want %v", tt.after, tt.date, got, tt.want)
		}
	}
}

func TestDo(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write(make([]byte, 100))
	}))
	t.Cleanup(server.Close)
	do := func(ctx context.Context, address string, limit int64) (*exchange.Exchange, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		x := &exchange.Exchange{HTTP: server.Client(), Limit: limit}
		_, err = x.Do(req) // its body was read
		return x, err
	}
	if x, err := do(t.Context(), server.URL, 100); err != nil || x.Status != http.StatusTeapot || len(x.Body) != 100 || x.OK() {
		t.Errorf("%d, %d bytes: %v", x.Status, len(x.Body), err)
	}
	if x, err := do(t.Context(), server.URL, 99); !errors.Is(err, exchange.ErrTooLong) || x.Status != 0 {
		t.Errorf("a response that is too long: %v", err)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	for _, tt := range []struct {
		ctx           context.Context
		address, want string
		late          bool
	}{
		{t.Context(), "http://127.0.0.1:1", "nothing listens at it", false},
		{late, server.URL, "it did not answer in time", true},
	} {
		_, err := do(tt.ctx, tt.address, 1)
		if msg, late := exchange.Unreachable("it", err); msg != tt.want || late != tt.late {
			t.Errorf("%s: %q, late %v: %v", tt.address, msg, late, err)
		}
	}
	if msg, late := exchange.Unreachable("it", &net.DNSError{IsNotFound: true}); msg != "no host of the name in it" || late {
		t.Errorf("a host that is not found: %q, late %v", msg, late)
	}
}
