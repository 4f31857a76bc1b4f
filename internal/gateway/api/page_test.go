package api_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/store"
)

// importClaims writes n claims, every third at the moment of the one before.
func importClaims(k *kit, n int) (ids []string) {
	k.Helper()
	s, release, err := k.layer.Store(k.Context(), k.who.Owner)
	if err != nil {
		k.Fatal(err)
	}
	defer release()
	in := make([]store.Incoming, n)
	for i := range in {
		in[i].Claim = ken.Claim{Text: fmt.Sprintf("claim number %d", i), Kind: ken.KindFact, Evidence: file(), Confidence: 1, Importance: 0.5,
			Status: ken.StatusObserved, CreatedAt: now.Add(time.Duration(i-i%3) * time.Second)}
		if i%5 == 0 {
			in[i].Claim.Tags = []string{"fifth"}
		}
	}
	for _, o := range s.Import(k.Context(), in) {
		if o.Err != nil {
			k.Fatal(o.Err)
		}
		ids = append(ids, o.ID)
	}
	return ids
}

// pages reads a list to its end, and runs between after each page.
func pages(k *kit, path string, between func()) (ids []string) {
	k.Helper()
	for next := ""; ; {
		a := k.ask(http.MethodGet, path+"&cursor="+next, nil).want(http.StatusOK)
		var list api.ClaimList
		a.into(&list)
		for _, c := range list.Claims {
			ids = append(ids, c.ID)
		}
		link := a.header.Get("Link")
		if list.Next == "" {
			if link != "" {
				k.Errorf("the last page has a Link %s", link)
			}
			return ids
		}
		if !strings.HasPrefix(link, "</api/claims?") || !strings.HasSuffix(link, `>; rel="next"`) || !strings.Contains(link, "cursor="+list.Next) {
			k.Errorf("Link %s, next %s", link, list.Next)
		}
		if next = list.Next; between != nil {
			between()
		}
	}
}

func TestPagesHoldEveryClaimOnce(t *testing.T) {
	k := newKit(t)
	ids := importClaims(k, 100)
	for _, limit := range []int{1, 7, 50, 99, 100, 101, 500} {
		got := pages(k, fmt.Sprintf("/api/claims?limit=%d", limit), nil)
		sorted := slices.Sorted(slices.Values(got))
		if want := slices.Sorted(slices.Values(ids)); !slices.Equal(sorted, want) {
			t.Errorf("limit %d: %d claims of %d", limit, len(got), len(want))
		}
		if limit == 7 {
			again := pages(k, "/api/claims?limit=50", nil)
			if !slices.Equal(got, again) {
				t.Error("the order depends on the limit")
			}
		}
	}
	if got := pages(k, "/api/claims?limit=3&tag=fifth", nil); len(got) != 20 {
		t.Errorf("%d of 20 claims with a tag", len(got))
	}
}

// Pages go on where they ended, whatever is written and forgotten meanwhile: of what
// was there all the time nothing is missing, and nothing comes twice.
func TestPagesUnderWrites(t *testing.T) {
	k := newKit(t)
	ids := importClaims(k, 60)
	rng := rand.New(rand.NewPCG(seed.Of(t), 1))
	gone := map[string]bool{}
	s, release, err := k.layer.Store(t.Context(), "anna")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	n := 0
	got := pages(k, "/api/claims?limit=4", func() {
		n++
		k.learn(fmt.Sprint("written meanwhile ", n)) // the newest
		id := ids[rng.IntN(len(ids))]
		if !gone[id] {
			gone[id] = true
			if _, err := s.Forget(t.Context(), id, "", ken.Actor{}); err != nil {
				t.Fatal(err)
			}
		}
	})
	seen := map[string]int{}
	for _, id := range got {
		if seen[id]++; seen[id] > 1 {
			t.Errorf("%s twice", id)
		}
	}
	for _, id := range ids {
		if !gone[id] && seen[id] == 0 {
			t.Errorf("%s is missing", id)
		}
	}
}

// The claim that a page ended with may be forgotten: the next page goes on after its
// place.
func TestPageAfterAClaimThatIsGone(t *testing.T) {
	k := newKit(t)
	importClaims(k, 9)
	all := pages(k, "/api/claims?limit=500", nil)
	first := get[api.ClaimList](k, "/api/claims?limit=4")
	k.ask(http.MethodDelete, "/api/claims/"+all[3], nil).want(http.StatusOK)
	second := get[api.ClaimList](k, "/api/claims?limit=4&cursor="+first.Next)
	if len(second.Claims) != 4 || second.Claims[0].ID != all[4] {
		t.Errorf("got %d claims from %s, want from %s", len(second.Claims), second.Claims[0].ID, all[4])
	}
}

func TestCursorOfAnotherQuery(t *testing.T) {
	k := newKit(t)
	importClaims(k, 9)
	next := get[api.ClaimList](k, "/api/claims?limit=4&kind=fact").Next
	for _, path := range []string{"/api/claims?limit=4", "/api/claims?kind=fact&status=observed", "/api/claims?kind=hot", "/api/sessions?x"} {
		if path == "/api/sessions?x" {
			path = "/api/sessions?limit=1"
		}
		k.ask(http.MethodGet, path+"&cursor="+next, nil).problem(http.StatusBadRequest, "invalid", "cursor", "another query")
	}
	k.ask(http.MethodGet, "/api/claims?limit=2&kind=fact&cursor="+next, nil).want(http.StatusOK) // another limit is the same query
}

func TestFiltersOfTheList(t *testing.T) {
	k := newKit(t)
	plain := k.learn("plain")
	rule := k.learn("a rule", func(r *api.LearnRequest) { r.Constraint = true })
	scoped := k.learn("scoped", func(r *api.LearnRequest) { r.Scope = ken.Scope{Type: ken.ScopeRepo, ID: "a/b"} })
	hot := k.learn("hot", func(r *api.LearnRequest) { r.Kind = ken.KindHot })
	guess := k.learn("guess", func(r *api.LearnRequest) { r.Status, r.Project = ken.StatusHypothesis, "payments" })
	said := k.learn("said", func(r *api.LearnRequest) { r.Session, r.Tags = "s1", []string{"a", "b"} })
	post[inspect.Claim](k, "/api/claims/"+plain.ID+"/supersede", api.SupersedeRequest{By: rule.ID})
	post[inspect.Claim](k, "/api/claims/"+plain.ID+"/archive", api.ReasonRequest{})
	all := []string{rule.ID, scoped.ID, hot.ID, guess.ID, said.ID}
	for q, want := range map[string][]string{
		"":                                 all,
		"archived=true":                    append([]string{plain.ID}, all...),
		"archived=true&status=superseded":  {plain.ID},
		"constraint=true":                  {rule.ID},
		"scope=repo:a/b":                   {scoped.ID},
		"kind=hot":                         {hot.ID},
		"kind=hot&kind=fact&constraint=1":  {rule.ID},
		"status=hypothesis":                {guess.ID},
		"project=payments":                 {guess.ID},
		"session=s1":                       {said.ID},
		"tag=a&tag=b":                      {said.ID},
		"tag=a&tag=c":                      {},
		"status=hypothesis&project=others": {},
	} {
		got := pages(k, "/api/claims?limit=2&"+q, nil)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", q, got, want)
		}
	}
}

func TestHistoryInPages(t *testing.T) {
	k := newKit(t)
	c := k.learn("The port is 8080.")
	for range 5 {
		post[inspect.Claim](k, "/api/claims/"+c.ID+"/verify", api.VerifyRequest{Note: "looked"})
	}
	var types []string
	seq := uint64(0)
	for next := ""; ; {
		h := get[api.History](k, "/api/claims/"+c.ID+"/history?limit=2&cursor="+next)
		for _, e := range h.History {
			types = append(types, string(e.Type))
			if e.Seq <= seq {
				t.Errorf("event %d after %d", e.Seq, seq)
			}
			seq = e.Seq
		}
		if next = h.Next; next == "" {
			break
		}
	}
	if len(types) != 6 || types[0] != "claim.written" || types[1] != "claim.transitioned" || types[5] != "claim.reinforced" {
		t.Errorf("got %v", types)
	}
}
