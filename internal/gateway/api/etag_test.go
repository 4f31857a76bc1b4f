package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/middleware"
)

func TestClaimThatDidNotChangeIsNotSentAgain(t *testing.T) {
	k := newKit(t)
	a := k.ask(http.MethodPost, "/api/claims", api.LearnRequest{Text: "The port is 8080.", Evidence: file()}).want(http.StatusCreated)
	var c middleware.ClaimView
	a.into(&c)
	path, tag := "/api/claims/"+c.ID, a.header.Get("ETag")
	if got := a.header.Get("Location"); got != path || tag == "" {
		t.Fatalf("Location %s, ETag %s", got, tag)
	}
	for _, paths := range []string{path, path + "/history", path + "/evidence"} {
		tag := k.ask(http.MethodGet, paths, nil).want(http.StatusOK).header.Get("ETag")
		for _, given := range []string{tag, `"x", ` + tag, "W/" + tag, "*"} {
			if got := k.ask(http.MethodGet, paths, nil, "If-None-Match", given).want(http.StatusNotModified).header.Get("ETag"); got != tag {
				t.Errorf("304 with ETag %s", got)
			}
		}
		k.ask(http.MethodGet, paths, nil, "If-None-Match", `"other"`).want(http.StatusOK)
	}
	post[middleware.ClaimView](k, path+"/verify", api.VerifyRequest{})
	k.ask(http.MethodGet, path, nil, "If-None-Match", tag).want(http.StatusOK)
}

func TestListThatDidNotChangeIsNotSentAgain(t *testing.T) {
	k := newKit(t)
	k.learn("one")
	tag := k.ask(http.MethodGet, "/api/claims?limit=5", nil).want(http.StatusOK).header.Get("ETag")
	k.ask(http.MethodGet, "/api/claims?limit=5", nil, "If-None-Match", tag).want(http.StatusNotModified)
	if other := k.ask(http.MethodGet, "/api/claims?limit=6", nil, "If-None-Match", tag).want(http.StatusOK).header.Get("ETag"); other == tag {
		t.Error("another query has the same version")
	}
	if other := k.as(operator("bert")).ask(http.MethodGet, "/api/claims?limit=5", nil).header.Get("ETag"); other == tag {
		t.Error("another owner's list has the same version")
	}
	k.learn("two")
	if n := len(get[api.ClaimList](k, "/api/claims?limit=5", "If-None-Match", tag).Claims); n != 2 {
		t.Errorf("%d claims", n)
	}
}

// Who waits for another's change of a claim waits for as long as it likes, and nobody
// waits for the change of another claim, such as one that takes minutes to forget.
func TestAChangeThatTakesLong(t *testing.T) {
	k := newKit(t)
	c := k.learn("The port is 8080.")
	release, err := k.api.Hold(t.Context(), "anna", c.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for i := range 100 { // more than there could be locks for claims to share
		other := k.learn(fmt.Sprintf("The port of service %d is %d.", i, 8000+i))
		post[middleware.ClaimView](k, "/api/claims/"+other.ID+"/verify", api.VerifyRequest{})
	}
	ctx, cancel := context.WithCancel(access.With(t.Context(), k.who))
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/claims/"+c.ID+"/verify", strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	var waiting sync.WaitGroup
	waiting.Go(func() { k.api.ServeHTTP(w, r) })
	cancel()
	waiting.Wait()
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Two operators look at the same claim; the second to act is told that it is another.
func TestTwoOperatorsDoNotOverwriteEachOther(t *testing.T) {
	k := newKit(t)
	c := k.learn("The port is 8080.")
	path := "/api/claims/" + c.ID
	tag := k.ask(http.MethodGet, path, nil).header.Get("ETag")
	a := k.ask(http.MethodPost, path+"/dispute", api.DisputeRequest{Reason: "it is 9090"}, "If-Match", tag).want(http.StatusOK)
	k.ask(http.MethodPost, path+"/verify", api.VerifyRequest{}, "If-Match", tag).problem(http.StatusPreconditionFailed, "precondition_failed", "Read it again")
	k.ask(http.MethodDelete, path, nil, "If-Match", tag).problem(http.StatusPreconditionFailed, "precondition_failed")
	k.ask(http.MethodPost, path+"/verify", api.VerifyRequest{}, "If-Match", "W/"+a.header.Get("ETag")).want(http.StatusPreconditionFailed) // a weak one proves nothing
	if got := get[middleware.ClaimView](k, path); got.Status != ken.StatusDisputed {
		t.Fatalf("status %s", got.Status)
	}
	k.ask(http.MethodPost, path+"/verify", api.VerifyRequest{}, "If-Match", a.header.Get("ETag")).want(http.StatusOK)
	k.ask(http.MethodPost, path+"/dispute", api.DisputeRequest{Reason: "again"}, "If-Match", "*").want(http.StatusOK)
}

// Of many who act at once on the same version one succeeds.
func TestManyOperatorsAtOnce(t *testing.T) {
	k := newKit(t)
	c := k.learn("The port is 8080.")
	path := "/api/claims/" + c.ID
	tag := k.ask(http.MethodGet, path, nil).header.Get("ETag")
	status := make([]int, 16)
	var wg sync.WaitGroup
	for i := range status {
		wg.Go(func() {
			status[i] = k.ask(http.MethodPost, path+"/verify", api.VerifyRequest{Note: "looked"}, "If-Match", tag).status
		})
	}
	wg.Wait()
	won := 0
	for _, s := range status {
		switch s {
		case http.StatusOK:
			won++
		case http.StatusPreconditionFailed:
		default:
			t.Errorf("status %d", s)
		}
	}
	if won != 1 {
		t.Errorf("%d succeeded: %v", won, status)
	}
}

func TestTags(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		want  []string
	}{
		{nil, nil},
		{[]string{`"a"`}, []string{`"a"`}},
		{[]string{`"a", W/"b"`, `*`}, []string{`"a"`, `W/"b"`, `*`}},
		{[]string{`"a,b" ,"c"`}, []string{`"a,b"`, `"c"`}},
		{[]string{`a, "b"`}, []string{`"b"`}},
		{[]string{`"a`}, nil},
		{[]string{``, ` , ,`}, nil},
	} {
		if got := api.Tags(tt.lines); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.lines, got, tt.want)
		}
	}
}
