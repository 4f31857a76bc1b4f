package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/middleware"
)

// Pain: no view of what was injected. A turn can be looked at afterwards, and asked why.
func TestTurnIsExplained(t *testing.T) {
	k := newKit(t)
	c := k.learn("Payments are retried three times with backoff.")
	far := k.learn("The harbour is shallow at low tide.")
	guess := k.learn("Payments may be retried ten times.", func(r *api.LearnRequest) { r.Status = ken.StatusHypothesis })
	turn := k.turn("s1", "how are payments retried?")
	later := k.learn("Payments are retried on Fridays.")
	path := "/api/turns/" + turn
	v := get[middleware.KeptTurn](k, path)
	if v.Turn != turn || v.Session != "s1" || v.Project != "payments" || v.Block != "" || len(v.Items) != 1 {
		t.Fatalf("turn %+v", v)
	}
	if it := v.Items[0]; it.ID != c.ID || it.Text != c.Text || it.State != middleware.ItemSame || it.Legs["keyword"].Rank != 1 {
		t.Errorf("item %+v", it)
	}
	for id, want := range map[string]middleware.Verdict{c.ID: middleware.VerdictInjected, guess.ID: middleware.VerdictCut, later.ID: middleware.VerdictUnknown} {
		e := get[middleware.Explanation](k, path+"/explain?claim="+id)
		if e.Verdict != want || e.Why == "" || e.Claim != id || e.Turn != turn {
			t.Errorf("want %s: %+v", want, e)
		}
	}
	if e := get[middleware.Explanation](k, path+"/explain?claim="+far.ID); e.Verdict != middleware.VerdictUnseen && e.Verdict != middleware.VerdictCut {
		t.Errorf("far: %+v", e)
	}
	k.ask(http.MethodGet, path+"/explain?claim=0198c0de-0000-7000-8000-00000000dead", nil).problem(http.StatusNotFound, "not_found", "claim")
	k.ask(http.MethodGet, path+"/explain", nil).problem(http.StatusBadRequest, "invalid", "claim")
	k.ask(http.MethodGet, "/api/turns/none/explain?claim="+c.ID, nil).problem(http.StatusNotFound, "not_found", "turn")

	list := get[api.TurnList](k, "/api/turns?session=s1").Turns
	if len(list) != 1 || list[0].Turn != turn || list[0].Items[0].Text != "" {
		t.Errorf("list %+v", list)
	}
}

// Pain: delete is not delete. The receipt of a turn tells nothing of what was forgotten.
func TestReceiptOfAForgottenClaim(t *testing.T) {
	k := newKit(t)
	c := k.learn("The quagmire password is tortoise.", func(r *api.LearnRequest) { r.Heading, r.Kind = "quagmire", ken.KindHot })
	turn := k.turn("s1", "when is the next deploy?") // says nothing of it itself
	if v := get[middleware.KeptTurn](k, "/api/turns/"+turn); len(v.Items) != 1 || !strings.Contains(v.Items[0].Text, "tortoise") {
		t.Fatalf("turn %+v", v)
	}
	k.ask(http.MethodDelete, "/api/claims/"+c.ID, nil).want(http.StatusOK)
	for _, path := range []string{"/api/turns/" + turn, "/api/turns", "/api/turns/" + turn + "/explain?claim=" + c.ID, "/api/sessions/s1/messages", "/api/export"} {
		a := k.ask(http.MethodGet, path, nil)
		if strings.Contains(string(a.body), "tortoise") {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	v := get[middleware.KeptTurn](k, "/api/turns/"+turn)
	if len(v.Items) != 1 || v.Items[0].State != middleware.ItemForgotten || v.Items[0].Text != "" || v.Items[0].ID != c.ID {
		t.Errorf("items %+v", v.Items)
	}
}

func TestTurnsInPages(t *testing.T) {
	k := newKit(t)
	var want []string
	for range 5 {
		k.learn("filler") // so that ids of turns differ
		want = append(want, k.turn("s1", "what is the filler?"))
	}
	var got []string
	get[middleware.KeptTurn](k, "/api/turns/"+want[4]) // waits until they are kept
	for next := ""; ; {
		l := get[api.TurnList](k, "/api/turns?limit=2&cursor="+next)
		for _, r := range l.Turns {
			got = append(got, r.Turn)
		}
		k.learn("filler")
		get[middleware.KeptTurn](k, "/api/turns/"+k.turn("s2", "what is the filler?"))
		if next = l.Next; next == "" {
			break
		}
	}
	if len(got) != 5 || got[0] != want[4] || got[4] != want[0] {
		t.Errorf("got %v, want the reverse of %v", got, want)
	}
}
