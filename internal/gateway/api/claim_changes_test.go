package api_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/middleware"
)

type view = inspect.Claim

func TestLifeOfAClaim(t *testing.T) {
	k := newKit(t)
	c := k.learn("Payments are retried three times.", func(r *api.LearnRequest) {
		half := 0.5
		r.Heading, r.Confidence, r.Tags, r.Scope = "Retries", &half, []string{"payments"}, ken.Scope{Type: ken.ScopeRepo, ID: "acme/payments"}
	})
	path := "/api/claims/" + c.ID
	if c.Kind != ken.KindFact || c.Status != ken.StatusObserved || c.Confidence != 0.5 || c.Importance != 0.5 || c.Tier != ken.Inferred ||
		c.Trust != ken.TrustOperator || c.Actor != (ken.Actor{Type: "user", ID: "op-anna"}) || c.Owner != "anna" || c.SourceType != "api" ||
		c.Evidence[0].FetchedAt.IsZero() {
		t.Errorf("learned %+v", c)
	}
	if v := post[view](k, path+"/verify", api.VerifyRequest{Note: "read the handler"}); v.Status != ken.StatusVerified || v.Tier != ken.Verified {
		t.Errorf("verified: %s, %s", v.Status, v.Tier)
	}
	ev := get[api.EvidenceList](k, path+"/evidence")
	if len(ev.Evidence) != 2 || ev.Tier != ken.Verified || ev.Evidence[1].Kind != ken.EvidenceHumanAssertion || ev.Evidence[1].ID != "op-anna" ||
		ev.Evidence[1].Speaker != ken.TrustOperator || ev.Evidence[1].Worth != "backed" {
		t.Errorf("evidence %+v", ev)
	}
	if v := post[view](k, path+"/dispute", api.DisputeRequest{Reason: "it is five"}); v.Status != ken.StatusDisputed {
		t.Errorf("disputed: %s", v.Status)
	}
	next := k.learn("Payments are retried five times.")
	for range 2 { // again changes nothing
		if v := post[view](k, path+"/supersede", api.SupersedeRequest{By: next.ID, Reason: "measured"}); v.Status != ken.StatusSuperseded || v.SupersededBy != next.ID {
			t.Errorf("superseded: %+v", v)
		}
	}
	if v := post[view](k, path+"/archive", api.ReasonRequest{Reason: "old"}); v.ArchivedAt.IsZero() {
		t.Error("not archived")
	}
	var got []string
	for _, e := range get[api.History](k, path+"/history").History {
		got = append(got, strings.TrimPrefix(string(e.Type), "claim.")+" "+e.Reason)
	}
	if want := []string{"written ", "transitioned read the handler", "transitioned it is five", "superseded measured", "archived old"}; !slices.Equal(got, want) {
		t.Errorf("history %q", got)
	}
	var gone middleware.Forgotten
	k.ask(http.MethodDelete, path+"?reason=asked+for", nil).want(http.StatusOK).into(&gone)
	if !slices.Equal(gone.Claims, []string{c.ID}) {
		t.Errorf("forgotten %+v", gone)
	}
	k.ask(http.MethodGet, path, nil).problem(http.StatusNotFound, "not_found")
	h := get[api.History](k, path+"/history").History
	if last := h[len(h)-1]; last.Type != ken.EventForgotten || last.Reason != "asked for" || !h[0].Erased {
		t.Errorf("history of a forgotten claim %+v", h)
	}
}

// A key makes learning safe to repeat, and says whether the claim is new.
func TestLearningWithAKeyAgain(t *testing.T) {
	k := newKit(t)
	r := api.LearnRequest{Text: "The port is 8080.", Evidence: file(), Key: "port"}
	first, again := k.ask(http.MethodPost, "/api/claims", r).want(http.StatusCreated), k.ask(http.MethodPost, "/api/claims", r).want(http.StatusOK)
	if string(first.body) != string(again.body) {
		t.Errorf("got %s, then %s", first.body, again.body)
	}
	r.Text = "The port is 9090."
	var a, b view
	first.into(&a)
	k.ask(http.MethodPost, "/api/claims", r).want(http.StatusOK).into(&b)
	if a.ID != b.ID || b.Text != r.Text {
		t.Errorf("got %+v", b)
	}
}

// Pain: secrets stored verbatim. What comes over the API is cleaned like everything.
func TestSecretsDoNotGetIn(t *testing.T) {
	k := newKit(t)
	const secret = "ghp_" + "016C7a9Kq2LmN4pR8sT1uV5wX0yZ3bD6eF2g"
	c := k.learn("The key is "+secret+".", func(r *api.LearnRequest) { r.Heading = secret })
	if strings.Contains(c.Text+c.Heading, secret) {
		t.Errorf("kept: %s, %s", c.Heading, c.Text)
	}
}

// Who may not operate speaks as an agent, whatever it says of itself.
func TestAgentsSpeakAsAgents(t *testing.T) {
	k := newKit(t)
	a := k.as(agent("anna"))
	c := a.learn("The port is 8080.", func(r *api.LearnRequest) {
		r.Evidence = []ken.Evidence{{Kind: ken.EvidenceFile, Path: "a.go", Trust: ken.TrustOperator}, ken.FromGitHistory("r", "abc", "s")}
	})
	if c.Trust != ken.TrustAgent || c.Actor != (ken.Actor{Type: "agent", ID: "agent-anna"}) {
		t.Errorf("trust %s, actor %+v", c.Trust, c.Actor)
	}
	if outside := a.learn("They say so.", func(r *api.LearnRequest) { r.Evidence = []ken.Evidence{ken.FromToolResult("c1", "page")} }); outside.Trust != ken.TrustExternal {
		t.Errorf("what is external became %s", outside.Trust)
	}
	word := []ken.Evidence{ken.FromHumanAssertion("anna", now, "checked")}
	for name, r := range map[string]api.LearnRequest{
		"a person's word":     {Text: "x", Evidence: word},
		"a user's statement":  {Text: "x", Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}},
		"hot":                 {Text: "x", Evidence: file(), Kind: ken.KindHot},
		"an approved pattern": {Text: "x", Evidence: file(), Kind: ken.KindPattern, Status: ken.StatusInferred},
		"an objective":        {Text: "x", Evidence: file(), Kind: ken.KindObjective},
		"a constraint":        {Text: "x", Evidence: file(), Constraint: true},
	} {
		t.Run(name, func(t *testing.T) {
			r.Text = name // each is a claim of its own
			a.ask(http.MethodPost, "/api/claims", r).problem(http.StatusForbidden, "forbidden", "operate")
			k.ask(http.MethodPost, "/api/claims", r).want(http.StatusCreated)
		})
	}
	a.ask(http.MethodPost, "/api/claims", api.LearnRequest{Text: "x", Evidence: file(), Status: ken.StatusVerified}).problem(http.StatusConflict, "refused", "verified")
	if p := a.learn("Friday, perhaps.", func(r *api.LearnRequest) { r.Kind, r.Status = ken.KindPattern, ken.StatusHypothesis }); p.Status != ken.StatusHypothesis {
		t.Errorf("candidate %s", p.Status)
	}

	// Nor can it revise what a person wrote, by knowing its key.
	k.learn("The door is green.", func(r *api.LearnRequest) { r.Key = "door" })
	a.ask(http.MethodPost, "/api/claims", api.LearnRequest{Text: "The door is red.", Evidence: file(), Key: "door"}).problem(http.StatusForbidden, "forbidden", "key")
}

func TestAgentsVerifyOnEvidence(t *testing.T) {
	k := newKit(t)
	a := k.as(agent("anna"))
	c := a.learn("The port is 8080.")
	path := "/api/claims/" + c.ID
	a.ask(http.MethodPost, path+"/verify", api.VerifyRequest{Note: "I am sure"}).problem(http.StatusBadRequest, "invalid", "evidence")
	a.ask(http.MethodPost, path+"/verify", api.VerifyRequest{Evidence: []ken.Evidence{ken.FromHumanAssertion("anna", now, "")}}).problem(http.StatusForbidden, "forbidden")
	v := post[view](a, path+"/verify", api.VerifyRequest{Evidence: []ken.Evidence{ken.FromTestResult("TestPort", "ok")}})
	if v.Status != ken.StatusVerified || v.Tier != ken.Inferred || v.Trust != ken.TrustAgent {
		t.Errorf("%s, %s, %s", v.Status, v.Tier, v.Trust)
	}
	if v = post[view](a, path+"/verify", api.VerifyRequest{Evidence: []ken.Evidence{ken.FromTestResult("TestOther", "ok")}}); v.Tier != ken.Verified || v.Reinforcements != 1 {
		t.Errorf("two tests: %s, reinforced %d", v.Tier, v.Reinforcements)
	}
	for _, verb := range []string{"supersede", "archive", "approve", "reject"} {
		a.ask(http.MethodPost, path+"/"+verb, "{}").problem(http.StatusForbidden, "forbidden", "operate")
	}
	a.ask(http.MethodDelete, path, nil).problem(http.StatusForbidden, "forbidden", "operate")
}

// What a person put into every turn is not taken out on an agent's word, nor is what a
// person turned down put there.
func TestAgentsDoNotDecideAboutEveryTurn(t *testing.T) {
	k := newKit(t)
	a := k.as(agent("anna"))
	hot := k.learn("Deploys are frozen.", func(r *api.LearnRequest) { r.Kind = ken.KindHot })
	var v view
	a.ask(http.MethodPost, "/api/claims/"+hot.ID+"/dispute", api.DisputeRequest{Reason: "they are not"}).want(http.StatusAccepted).into(&v)
	if v.Status != ken.StatusObserved {
		t.Errorf("status %s", v.Status)
	}
	list := get[api.AttentionList](k, "/api/attention").Attention
	if len(list) != 1 || list[0].Event != attention.DisputeRequested || !strings.Contains(list[0].Text, "they are not") {
		t.Errorf("attention %+v", list)
	}
	down := k.learn("make test is used", func(r *api.LearnRequest) { r.Kind, r.Status = ken.KindPattern, ken.StatusHypothesis })
	post[view](k, "/api/claims/"+down.ID+"/reject", struct{}{})
	a.ask(http.MethodPost, "/api/claims/"+down.ID+"/verify", api.VerifyRequest{Evidence: []ken.Evidence{ken.FromTestResult("T", "")}}).
		problem(http.StatusForbidden, "forbidden", "every turn")
	if v := post[view](a, "/api/claims/"+k.learn("The port is 1.").ID+"/dispute", api.DisputeRequest{Reason: "it is 2"}); v.Status != ken.StatusDisputed {
		t.Errorf("an ordinary claim: %s", v.Status)
	}
}

// A claim that names no evidence rests on the word of the key that sends it.
func TestTextAloneIsTheKeysWord(t *testing.T) {
	k := newKit(t)
	for name, tt := range map[string]struct {
		as    *kit
		kind  ken.EvidenceKind
		trust ken.Trust
		actor ken.Actor
		rule  bool
	}{
		"with operate":    {k, ken.EvidenceHumanAssertion, ken.TrustOperator, ken.Actor{Type: "user", ID: "op-anna"}, true},
		"without operate": {k.as(agent("anna")), ken.EvidenceAgentAssertion, ken.TrustAgent, ken.Actor{Type: "agent", ID: "agent-anna"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var v view
			tt.as.ask(http.MethodPost, "/api/claims", `{"text":"The mailer must never send twice.","source":"`+name+`"}`).want(http.StatusCreated).into(&v)
			if v.Trust != tt.trust || v.Actor != tt.actor || v.Constraint != tt.rule || v.RuleCandidate == tt.rule || v.Status != ken.StatusObserved {
				t.Errorf("trust %s, actor %+v, rule %t, candidate %t, status %s", v.Trust, v.Actor, v.Constraint, v.RuleCandidate, v.Status)
			}
			if len(v.Evidence) != 1 || v.Evidence[0].Kind != tt.kind || v.Evidence[0].ID != tt.actor.ID || v.Evidence[0].FetchedAt.IsZero() {
				t.Errorf("evidence %+v", v.Evidence)
			}
		})
	}
}

// A write that says it has no evidence is refused, and a person hears of it.
func TestAgentsWritesWithoutEvidenceAreNoticed(t *testing.T) {
	k := newKit(t)
	k.as(agent("anna")).ask(http.MethodPost, "/api/claims", `{"text":"Trust me.","evidence":[]}`).problem(http.StatusBadRequest, "invalid", "evidence")
	list := get[api.AttentionList](k, "/api/attention").Attention
	if len(list) != 1 || list[0].Event != attention.Rejected {
		t.Fatalf("attention %+v", list)
	}
	k.as(agent("anna")).ask(http.MethodPost, "/api/attention/"+list[0].ID+"/dismiss", nil).problem(http.StatusForbidden, "forbidden")
	if d := post[api.Dismissed](k, "/api/attention/"+list[0].ID+"/dismiss", nil); !slices.Equal(d.Dismissed, []string{list[0].ID}) {
		t.Errorf("dismissed %+v", d)
	}
	if left := get[api.AttentionList](k, "/api/attention").Attention; len(left) != 0 {
		t.Errorf("left %+v", left)
	}
	if all := get[api.AttentionList](k, "/api/attention?all=true").Attention; len(all) != 1 {
		t.Errorf("all %+v", all)
	}
}

func TestReviewOfCandidates(t *testing.T) {
	k := newKit(t)
	candidate := func(kind ken.Kind) view {
		return k.learn("Tests run with make test ("+string(kind)+").", func(r *api.LearnRequest) { r.Kind, r.Status = kind, ken.StatusHypothesis })
	}
	for _, kind := range []ken.Kind{ken.KindPattern, ken.KindHot, ken.KindFact} {
		c := candidate(kind)
		for range 2 { // again changes nothing
			v := post[view](k, "/api/claims/"+c.ID+"/approve", struct{}{})
			if v.Status != ken.StatusObserved || v.Evidence[len(v.Evidence)-1].Kind != ken.EvidenceHumanAssertion || len(v.Evidence) != 2 {
				t.Errorf("%s approved: %+v", kind, v)
			}
		}
		for range 2 {
			if v := post[view](k, "/api/claims/"+c.ID+"/reject", struct{}{}); v.Status != ken.StatusDisputed {
				t.Errorf("%s rejected: %s", kind, v.Status)
			}
		}
	}
	k.ask(http.MethodPost, "/api/claims/"+candidate(ken.KindHot).ID+"/approve", nil, "Content-Type", "application/json").want(http.StatusOK)
}

// Rights don't follow from one another.
func TestRights(t *testing.T) {
	k := newKit(t)
	reader := k.as(access.Principal{Name: "r", Owner: "anna", Rights: []access.Right{access.Read}})
	chat := k.as(access.Principal{Name: "c", Owner: "anna", Rights: []access.Right{access.Chat}})
	c := k.learn("The port is 8080.")
	reader.ask(http.MethodGet, "/api/claims/"+c.ID, nil).want(http.StatusOK)
	reader.ask(http.MethodGet, "/api/turns", nil).problem(http.StatusForbidden, "forbidden", "session", "operate")
	reader.ask(http.MethodGet, "/api/turns?session=s", nil).want(http.StatusOK)
	for _, path := range []string{"/api/claims/" + c.ID, "/api/search?q=port", "/api/stats"} {
		chat.ask(http.MethodGet, path, nil).problem(http.StatusForbidden, "forbidden", "read")
	}
	reader.ask(http.MethodPost, "/api/claims", api.LearnRequest{Text: "x", Evidence: file()}).problem(http.StatusForbidden, "forbidden", "write")
}

// A file of the project is kept as it is now, so that it shows when it has changed; one
// that is not there, or of another repository, is a name.
func TestLearningFromAFile(t *testing.T) {
	k := newKit(t)
	path := filepath.Join(k.layer.Root(), "plan.md")
	put := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("Deploy on Mondays.\n")
	rests := func(e ken.Evidence) func(*api.LearnRequest) {
		return func(r *api.LearnRequest) { r.Evidence = []ken.Evidence{e} }
	}
	k.learn("Deploys are on Mondays.", rests(ken.FromFile("./plan.md", "", "")))
	state := func() provenance.State {
		v := get[api.ProvenanceView](k, "/api/provenance"+query("of", "plan.md"))
		if v.Total != 1 || len(v.Claims[0].Evidence) != 1 {
			t.Fatalf("%+v", v)
		}
		return v.Claims[0].Evidence[0].State
	}
	if got := state(); got != provenance.Stands {
		t.Errorf("at first it is %q", got)
	}
	put("Deploy on Tuesdays.\n")
	if got := state(); got != provenance.Changed {
		t.Errorf("after a change it is %q", got)
	}
	for _, e := range []ken.Evidence{ken.FromFile("none.md", "", ""), ken.FromFile("plan.md", "github.com/acme/other", ""), ken.FromFile("../../etc/passwd", "", "")} {
		if c := k.learn("It is said in "+e.Path+" of "+e.Repo+".", rests(e)); len(c.Evidence) != 1 || c.Evidence[0].ContentHash != "" || c.Evidence[0].Path != e.Path {
			t.Errorf("%+v: %+v", e, c.Evidence)
		}
	}
}

// Named twice, a file is the same piece of evidence, whichever way it is written.
func TestAFileThatIsNamedTwice(t *testing.T) {
	k := newKit(t)
	if err := os.WriteFile(filepath.Join(k.layer.Root(), "plan.md"), []byte("Deploy on Mondays.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := k.learn("Deploys are on Mondays.", func(r *api.LearnRequest) {
		r.Evidence = []ken.Evidence{ken.FromFile("plan.md", "", ""), ken.FromFile("none.md", "", ""), ken.FromFile("./plan.md", "", ""), ken.FromFile("none.md", "", "")}
	})
	for i, want := range []struct {
		path   string
		hashed bool
	}{{"plan.md", true}, {"none.md", false}, {"plan.md", true}, {"none.md", false}} {
		if e := c.Evidence[i]; e.Path != want.path || (e.ContentHash != "") != want.hashed {
			t.Errorf("%d: %+v", i, e)
		}
	}
}

// Pain: cross-tenant leaks. What another owner says of the project's files is not
// compared with them: the answer would tell which there are, and what they hold.
func TestAnotherOwnersFilesAreNotThere(t *testing.T) {
	k := newKit(t)
	if err := os.WriteFile(filepath.Join(k.layer.Root(), "plan.md"), []byte("Buy the bank.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	bert := k.as(operator("bert"))
	for _, hash := range []string{"", "sha256:" + "00"} {
		for _, file := range []string{"plan.md", "none.md"} {
			e := ken.FromFile(file, "", "")
			e.ContentHash = hash
			c := bert.learn("It is said in "+file+hash+".", func(r *api.LearnRequest) { r.Evidence = []ken.Evidence{e} })
			if c.Evidence[0].ContentHash != hash {
				t.Errorf("%s: %+v", file, c.Evidence)
			}
		}
	}
	for _, file := range []string{"plan.md", "none.md"} {
		v := get[api.ProvenanceView](bert, "/api/provenance"+query("of", file))
		if v.Total != 2 || v.Claims[0].Evidence[0].State != provenance.Stands || v.Claims[1].Evidence[0].State != provenance.Stands {
			t.Errorf("%s: %+v", file, v)
		}
	}
}

// The same claim told twice is one, with the evidence of both.
func TestTheSameClaimAgain(t *testing.T) {
	for name, k := range map[string]*kit{"operator": newKit(t), "agent": newKit(t).as(agent("anna"))} {
		var first, again api.LearnedView
		k.ask(http.MethodPost, "/api/claims", `{"text":"The clerk counts at nine."}`).want(http.StatusCreated).into(&first)
		k.ask(http.MethodPost, "/api/claims", `{"text":"The clerk counts at nine.","evidence":[{"kind":"file","path":"count.go"}]}`).want(http.StatusOK).into(&again)
		if first.Known || !again.Known || again.ID != first.ID || len(again.Evidence) != 2 {
			t.Errorf("%s: %+v, then %+v", name, first, again)
		}
		k.ask(http.MethodPost, "/api/claims", `{"text":"The clerk counts at nine.","tags":["shop"]}`).want(http.StatusCreated)
		k.ask(http.MethodPost, "/api/claims", `{"text":"The clerk counts at nine.","evidence":[]}`).problem(http.StatusBadRequest, "invalid", "evidence")
	}
}

// A claim that no turn could ever show is refused, and a kind that is written wrongly.
func TestClaimsThatNoTurnShows(t *testing.T) {
	k := newKit(t)
	for name, r := range map[string]api.LearnRequest{
		"entity":  {Text: "The entity gateway times out after 30 seconds.", Kind: ken.KindEntity},
		"alias":   {Text: "The ledger is also called book.", Kind: ken.KindAlias},
		"slip":    {Text: "The proxy times out after 30 seconds.", Kind: "facts"},
		"expired": {Text: "The proxy times out after 30 seconds.", ExpiresAt: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if got := k.ask(http.MethodPost, "/api/claims", r); got.status/100 != 4 {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	own := k.learn("The lamp is green.", func(r *api.LearnRequest) { r.Kind = "note" })
	if own.Kind != "note" {
		t.Errorf("a kind of its own became %s", own.Kind)
	}
}
