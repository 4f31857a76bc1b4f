package api_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/gateway/api"
)

// FuzzQuery checks that whatever is asked, a query is read as net/url does, and what is
// refused is the asker's fault and says which parameter.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"", "limit=3&kind=fact&kind=hot", "limit=3&limit=4", "limit=-1", "scope=repo:a", "stauts=x", "archived=1", "%zz=1", "a=1;b=2",
		"limit=99999999999999999999", "kind=%ff", "cursor=AQ", "=", "&&", "tag=%00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		names, err := api.ParseQueryFor("listClaims", raw)
		if err != nil {
			var e *ken.Error
			if !errors.As(err, &e) || e.Code != ken.CodeInvalid || e.Field == "" && raw != "" && len(raw) > 1 && e.Msg == "" {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		q, err := url.ParseQuery(raw)
		if err != nil || len(q) != len(names) {
			t.Errorf("%q was accepted as %v, %v", raw, names, err)
		}
		for _, n := range names {
			if !q.Has(n) {
				t.Errorf("%q: %s was not given", raw, n)
			}
		}
	})
}

// FuzzCursor checks that what is no cursor is refused, and that one that is read can be
// written again.
func FuzzCursor(f *testing.F) {
	for _, p := range []api.Place{api.NewPlace(0, 0, ""), api.NewPlace(1, -5, "id"), api.NewPlace(255, 1<<62, "0198c0de-0000-7000-8000-000000000001 7")} {
		f.Add(api.WriteCursor("listClaims", p))
	}
	for _, s := range []string{"", "AQ", "!!!!", "AgAAAAAAAAAAAAAAAAAAAAAAAA", "AQAAAAAAAAAAAAAAAAAAAAAAA="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, sum, ok := api.ParseCursor(text)
		if !ok {
			return
		}
		again, _, ok := api.ParseCursor(api.WriteCursor("listClaims", p))
		if !ok || again != p || len(sum) != 8 {
			t.Errorf("%q is %+v, and then %+v", text, p, again)
		}
	})
}

// FuzzBody checks that a body which is accepted is JSON of which nothing was lost: it
// says the same when it is written again.
func FuzzBody(f *testing.F) {
	for _, s := range []string{"{}", `{"text":"x","evidence":[{"kind":"file","path":"a"}]}`, `{"text":1}`, `{"body":{"a":[1,{"a":2}]}}`, `{"a":{"a":1}}`, "[]", "null",
		`{"scope":{"type":"repo","id":"x"},"confidence":0.5,"tags":["a"]}`, `{"text":"x","text":"y"}`, `{"Text":"x"}`, "{} {}", "\ufeff{}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r api.LearnRequest
		if err := api.DecodeStrict(b, &r); err != nil {
			if !errors.Is(err, ken.ErrInvalid) {
				t.Errorf("%q: %v", b, err)
			}
			return
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(b, &members); err != nil {
			t.Fatalf("%q was accepted: %v", b, err)
		}
		for name, v := range members {
			if name == "text" && string(v) != "null" {
				var text string
				if err := json.Unmarshal(v, &text); err != nil || text != r.Text {
					t.Errorf("%q: text %q", b, r.Text)
				}
			}
		}
	})
}

// FuzzPath checks that no path makes the table panic, and that a route's variables are
// never empty.
func FuzzPath(f *testing.F) {
	for _, l := range api.Table() {
		f.Add(l.Path)
	}
	f.Add("/api/claims/%2e%2e/history")
	f.Add("/api//claims")
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			return
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.URL = u
		id := api.RouteOf(r)
		known := id == "" || slices.ContainsFunc(api.Table(), func(l api.Line) bool { return l.ID == id })
		if !known {
			t.Errorf("%q leads to %q", path, id)
		}
	})
}
