package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/kenlayer/ken"
)

func testWrite(k *kit) {
	k.sub("every field comes back", func(k *kit) {
		code := 1
		want := ken.Claim{
			ID: "0198a000-0000-7000-8000-000000000001", Key: "adr-7", Owner: ken.DefaultOwner, Kind: ken.KindDecision,
			Heading: "Sagas", Text: "payments uses sagas", Body: json.RawMessage(`{"drivers":["latency"]}`),
			Evidence: []ken.Evidence{
				{Kind: ken.EvidenceExitCode, ID: "make", ExitCode: &code, FetchedAt: epoch.Add(-time.Hour), Trust: ken.TrustOperator},
				{Kind: ken.EvidenceFile, Path: "a.go", Line: 3, Repo: "acme/payments", CommitSHA: "abc", ContentHash: "sha256:00", Detail: "saga"},
			},
			Status: ken.StatusInferred, Confidence: 0.25, Importance: 0.75,
			Scope: ken.Scope{Type: ken.ScopeRepo, ID: "acme/payments"}, Project: "payments", Session: "s1", Branch: "b1",
			Actor: ken.Actor{Type: "user", ID: "ada"}, Domain: "architecture", Tags: []string{"saga", "2pc"},
			Entities: []string{"payments"}, Aspect: "transactions", Constraint: true, Source: "docs/adr/7.md", SourceType: "repository",
			CreatedAt: epoch.Add(-48 * time.Hour), UpdatedAt: epoch.Add(-24 * time.Hour), ExpiresAt: epoch.Add(1000 * time.Hour),
			Reinforcements: 2, ReinforcedAt: epoch.Add(-25 * time.Hour),
		}
		id, err := k.s.WriteClaim(k.ctx, want)
		k.must(err)
		if id != want.ID {
			k.Errorf("written as %s", id)
		}
		if diff := cmp.Diff(want, k.get(id)); diff != "" {
			k.Errorf("(-want +got):\n%s", diff)
		}
	})

	k.sub("what is left out is filled in", func(k *kit) {
		before := k.clock.Now()
		id, err := k.s.WriteClaim(k.ctx, ken.Claim{Text: "payments uses sagas", Evidence: []ken.Evidence{ken.FromDecision("d")}})
		k.must(err)
		u, err := uuid.Parse(id)
		if err != nil || u.Version() != 7 {
			k.Errorf("id %q is not a UUID of version 7", id)
		}
		c := k.get(id)
		if c.ID != id || c.Owner != ken.DefaultOwner || c.Kind != ken.KindFact || c.Status != ken.StatusObserved {
			k.Errorf("filled in as %+v", c)
		}
		if !c.CreatedAt.After(before) || c.CreatedAt.After(k.clock.Now()) || !c.UpdatedAt.Equal(c.CreatedAt) {
			k.Errorf("created %v, updated %v", c.CreatedAt, c.UpdatedAt)
		}
	})

	k.sub("ids come from the seam", func(k *kit) {
		const id = "0198a000-0000-7000-8000-0000000000aa"
		k.s = k.another(Options{NewID: func() string { return id }})
		if got := k.write("payments uses sagas"); got != id {
			k.Errorf("id %s, want %s", got, id)
		}
	})

	k.sub("an id has one spelling", func(k *kit) {
		const id = "0198a000-0000-7000-8000-0000000000ab"
		got := k.write("payments uses sagas", func(c *ken.Claim) { c.ID = strings.ToUpper(id) })
		if got != id {
			k.Errorf("written as %s", got)
		}
		if err := k.s.Transition(k.ctx, ken.Transition{ID: strings.ToUpper(id), To: ken.StatusVerified}); err != nil {
			k.Error(err)
		}
		k.wantEvents(strings.ToUpper(id), 2)
	})

	k.sub("a known id must carry the same content", func(k *kit) {
		c := claim("payments uses sagas", func(c *ken.Claim) { c.ID = "0198a000-0000-7000-8000-0000000000ac" })
		for range 2 {
			if id, err := k.s.WriteClaim(k.ctx, c); err != nil || id != c.ID {
				k.Fatalf("%q, %v", id, err)
			}
		}
		k.wantEvents(c.ID, 1)
		c.Text = "payments uses two-phase commit"
		k.wantErr(errOf(k.s.WriteClaim(k.ctx, c)), ken.ErrExists, "id")
		if got := k.get(c.ID).Text; got != "payments uses sagas" {
			k.Errorf("a refused write changed the text to %q", got)
		}
	})

	k.sub("the same fact twice loses neither", func(k *kit) {
		a, b := k.write("payments uses sagas"), k.write("payments uses sagas")
		if a == b {
			k.Fatal("two claims share an id")
		}
		k.findsSet("sagas", a, b)
	})
}

func testKey(k *kit) {
	k.sub("a key makes writes idempotent", func(k *kit) {
		first := k.write("payments uses sagas", withKey("adr-7"))
		for range 3 {
			if id := k.write("payments uses sagas", withKey("adr-7")); id != first {
				k.Fatalf("the same key became another claim: %s", id)
			}
		}
		k.wantEvents(first, 1)
		if found := k.ask("sagas"); len(found) != 1 {
			k.Errorf("found %d claims", len(found))
		}
	})

	k.sub("other content is a new version", func(k *kit) {
		id := k.write("payments uses sagas", withKey("adr-7"))
		before := k.get(id)
		if got := k.write("payments uses orchestration", withKey("adr-7")); got != id {
			k.Fatalf("revised under another id: %s", got)
		}
		after := k.get(id)
		if after.Text != "payments uses orchestration" || !after.CreatedAt.Equal(before.CreatedAt) || !after.UpdatedAt.After(before.UpdatedAt) {
			k.Errorf("revised into %+v", after)
		}
		k.finds("sagas")
		k.finds("orchestration", id)
		want := []ken.EventType{ken.EventWritten, ken.EventRevised}
		if got := k.historyTypes(id); !slices.Equal(got, want) {
			k.Errorf("history %v, want %v", got, want)
		}
	})

	k.sub("a revision revives nothing", func(k *kit) {
		old := k.write("payments uses sagas", withKey("adr-7"))
		next := k.write("payments uses orchestration")
		k.supersede(old, next)
		k.write("payments uses sagas, says the old source", withKey("adr-7"))
		c := k.get(old)
		if c.Status != ken.StatusSuperseded || c.SupersededBy != next {
			k.Errorf("it is %s, superseded by %q", c.Status, c.SupersededBy)
		}
		k.finds("sagas")
	})

	k.sub("keys are exact", func(k *kit) {
		keys := []string{"a", "A", "a ", "a/b", "ä", strings.Repeat("k", 300)}
		seen := map[string]string{}
		for _, key := range keys {
			id := k.write("a claim of key "+key, withKey(key))
			if other, ok := seen[id]; ok {
				k.Errorf("keys %q and %q are one", key, other)
			}
			seen[id] = key
		}
	})
}

func testInvalid(k *kit) {
	for _, tt := range []struct {
		field  string
		change func(*ken.Claim)
	}{
		{"text", func(c *ken.Claim) { c.Text = " \n" }},
		{"text", func(c *ken.Claim) { c.Text = strings.Repeat("word ", ken.MaxTextBytes/5+1) }},
		{"evidence", func(c *ken.Claim) { c.Evidence = nil }},
		{"evidence[1]", func(c *ken.Claim) { c.Evidence = append(c.Evidence, ken.Evidence{Kind: "rumour"}) }},
		{"kind", func(c *ken.Claim) { c.Kind = "Fact!" }},
		{"status", func(c *ken.Claim) { c.Status = "confirmed" }},
		{"confidence", func(c *ken.Claim) { c.Confidence = 1.5 }},
		{"importance", func(c *ken.Claim) { c.Importance = -1 }},
		{"scope.type", func(c *ken.Claim) { c.Scope.ID = "x" }},
		{"body", func(c *ken.Claim) { c.Body = json.RawMessage(`{`) }},
		{"id", func(c *ken.Claim) { c.ID = "adr-7" }},
	} {
		k.wantErr(errOf(k.s.WriteClaim(k.ctx, claim("payments uses sagas", tt.change))), ken.ErrInvalid, tt.field)
	}
	if found := k.query(ken.Query{Filter: ken.Filter{Statuses: ken.Statuses()}}); len(found) != 0 {
		k.Errorf("%d refused claims were kept", len(found))
	}

	k.sub("a text of exactly the limit", func(k *kit) {
		text := strings.Repeat("sagas ", ken.MaxTextBytes/6)
		text += strings.Repeat("x", ken.MaxTextBytes-len(text))
		id := k.write(text)
		if got := k.get(id).Text; got != text {
			k.Errorf("%d bytes came back as %d", len(text), len(got))
		}
	})
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func testTransition(k *kit) {
	k.sub("every pair of statuses", func(k *kit) {
		for _, from := range ken.Statuses() {
			for _, to := range ken.Statuses() {
				id := k.write("a claim that is "+string(from)+" and wants to be "+string(to), withStatus(from))
				err := k.s.Transition(k.ctx, ken.Transition{ID: id, To: to})
				status, events := k.get(id).Status, len(k.history(id))
				if ken.CheckTransition(from, to, "") == nil {
					if err != nil || status != to || events != 2 {
						k.Errorf("%s to %s: %v; it is %s after %d events", from, to, err, status, events)
					}
					continue
				}
				k.wantErr(err, ken.ErrRefused, "status")
				if err != nil && (!strings.Contains(err.Error(), string(from)) || !strings.Contains(err.Error(), string(to))) {
					k.Errorf("%s to %s: %q does not name both", from, to, err)
				}
				if status != from || events != 1 {
					k.Errorf("%s to %s was refused, but it is %s after %d events", from, to, status, events)
				}
			}
		}
	})

	k.sub("lapsed opens one more edge", func(k *kit) {
		for _, from := range []ken.Status{ken.StatusObserved, ken.StatusVerified} {
			id := k.write("a pattern that nobody used", withStatus(from))
			if err := k.s.Transition(k.ctx, ken.Transition{ID: id, To: ken.StatusHypothesis, Reason: ken.ReasonLapsed}); err != nil {
				k.Errorf("from %s: %v", from, err)
			}
		}
		k.finds("pattern")
	})

	k.sub("a contradiction deletes nothing", func(k *kit) {
		a, b := k.write("The sagas time out after 5 s."), k.write("The sagas time out after 9 s.")
		k.transition(a, ken.StatusDisputed)
		k.finds("sagas", b)
		all := ids(k.query(ken.Query{Question: "sagas", Filter: ken.Filter{Statuses: ken.Statuses()}}))
		if !sameSet(all, []string{a, b}) {
			k.Errorf("kept %v, want both", all)
		}
		k.transition(a, ken.StatusVerified)
		k.findsSet("sagas", a, b)
	})

	k.sub("evidence is added, each piece once", func(k *kit) {
		id := k.write("payments uses sagas")
		human := ken.FromHumanAssertion("ada", epoch, "read the code")
		for _, to := range []ken.Status{ken.StatusVerified, ken.StatusDisputed, ken.StatusVerified} {
			k.must(k.s.Transition(k.ctx, ken.Transition{ID: id, To: to, Evidence: []ken.Evidence{human}}))
		}
		c := k.get(id)
		if want := []ken.Evidence{ken.FromArtifact("storetest", ""), human}; !cmp.Equal(want, c.Evidence) {
			k.Errorf("evidence %+v", c.Evidence)
		}
		if tier := c.Support(nil).Tier; tier != ken.Verified {
			k.Errorf("a person verified it, and its tier is %v", tier)
		}
	})

	k.sub("bad requests", func(k *kit) {
		id := k.write("payments uses sagas")
		move := func(t ken.Transition) error { return k.s.Transition(k.ctx, t) }
		k.wantErr(move(ken.Transition{ID: id, To: "confirmed"}), ken.ErrInvalid, "status")
		k.wantErr(move(ken.Transition{ID: id, To: ken.StatusVerified, Evidence: []ken.Evidence{{Kind: "rumour"}}}), ken.ErrInvalid, "")
		for _, unknown := range []string{"", "adr-7", uuid.NewString()} {
			k.wantErr(move(ken.Transition{ID: unknown, To: ken.StatusVerified}), ken.ErrNotFound, "")
		}
		k.wantEvents(id, 1)
	})
}

func testSupersede(k *kit) {
	k.sub("links go both ways", func(k *kit) {
		old, next := k.write("payments uses sagas"), k.write("payments uses two-phase commit")
		k.supersede(old, next)
		a, b := k.get(old), k.get(next)
		if a.Status != ken.StatusSuperseded || a.SupersededBy != next || a.Supersedes != "" {
			k.Errorf("the old claim: %s, superseded by %q, supersedes %q", a.Status, a.SupersededBy, a.Supersedes)
		}
		if b.Status != ken.StatusObserved || b.Supersedes != old || b.SupersededBy != "" {
			k.Errorf("the new claim: %s, supersedes %q, superseded by %q", b.Status, b.Supersedes, b.SupersededBy)
		}
		k.finds("payments", next)
	})

	k.sub("repeating it changes nothing", func(k *kit) {
		old, next := k.write("payments uses sagas"), k.write("payments uses two-phase commit")
		k.supersede(old, next)
		before, historyOld, historyNext := k.get(old), len(k.history(old)), len(k.history(next))
		k.supersede(old, next)
		if diff := cmp.Diff(before, k.get(old)); diff != "" {
			k.Errorf("(-before +after):\n%s", diff)
		}
		if len(k.history(old)) != historyOld || len(k.history(next)) != historyNext {
			k.Error("a repeated call left an event")
		}
	})

	k.sub("every status but superseded can be", func(k *kit) {
		next := k.write("what replaces them all")
		for _, from := range ken.Statuses() {
			old := k.write("a claim that is "+string(from), withStatus(from))
			err := k.s.Supersede(k.ctx, old, next)
			if from == ken.StatusSuperseded {
				k.wantErr(err, ken.ErrRefused, "")
			} else if err != nil {
				k.Errorf("from %s: %v", from, err)
			}
		}
	})

	k.sub("refused", func(k *kit) {
		a, b, c := k.write("first"), k.write("second"), k.write("third")
		k.supersede(a, b)
		k.wantErr(k.s.Supersede(k.ctx, a, c), ken.ErrRefused, "") // there is one successor
		k.wantErr(k.s.Supersede(k.ctx, c, c), ken.ErrRefused, "")
		k.wantErr(k.s.Supersede(k.ctx, b, a), ken.ErrRefused, "") // both would be gone
		k.supersede(b, c)
		k.wantErr(k.s.Supersede(k.ctx, c, a), ken.ErrRefused, "") // a longer circle
		k.wantErr(k.s.Supersede(k.ctx, uuid.NewString(), c), ken.ErrNotFound, "")
		k.wantErr(k.s.Supersede(k.ctx, c, uuid.NewString()), ken.ErrNotFound, "")
		k.wantErr(k.s.Supersede(k.ctx, c, ""), ken.ErrNotFound, "")
		if got := k.get(a); got.SupersededBy != b {
			k.Errorf("the first is now superseded by %q", got.SupersededBy)
		}
		if got := k.get(c); got.Status != ken.StatusObserved {
			k.Errorf("the valid claim is now %s", got.Status)
		}
	})

	k.sub("two claims may have one successor", func(k *kit) {
		a, b, c := k.write("first"), k.write("second"), k.write("both in one")
		k.supersede(a, c)
		k.supersede(b, c)
		if k.get(a).SupersededBy != c || k.get(b).SupersededBy != c {
			k.Error("one of them lost its successor")
		}
		var named []string
		for _, e := range k.history(c)[1:] {
			named = append(named, e.Other)
		}
		if !slices.Equal(named, []string{a, b}) {
			k.Errorf("its history names %v, want both", named)
		}
	})
}

func testHistory(k *kit) {
	k.sub("says what happened", func(k *kit) {
		actor := ken.Actor{Type: "user", ID: "ada"}
		start := k.clock.Now()
		first := ken.FromArtifact("storetest", "")
		id := k.write("payments uses sagas", withKey("adr-7"), func(c *ken.Claim) { c.Actor = ken.Actor{Type: "agent", ID: "reviewer"} })
		human := ken.FromHumanAssertion("ada", epoch, "read the code")
		err := k.s.Transition(k.ctx, ken.Transition{ID: id, To: ken.StatusVerified, Reason: "read the code",
			Evidence: []ken.Evidence{human}, Actor: actor})
		k.must(err)
		k.write("payments uses sagas everywhere", withKey("adr-7"))
		next := k.write("payments uses two-phase commit")
		k.supersede(id, next)

		got := k.history(id)
		checkTimes(k, got, start)
		want := []ken.ClaimEvent{
			{Type: ken.EventWritten, To: ken.StatusObserved, Evidence: []ken.Evidence{first}, Actor: ken.Actor{Type: "agent", ID: "reviewer"}},
			{Type: ken.EventTransitioned, From: ken.StatusObserved, To: ken.StatusVerified, Reason: "read the code",
				Evidence: []ken.Evidence{human}, Actor: actor},
			{Type: ken.EventRevised, To: ken.StatusObserved}, // nobody verified the new words
			{Type: ken.EventSuperseded, From: ken.StatusObserved, To: ken.StatusSuperseded, Other: next},
		}
		for i := range got { // what depends on the store
			got[i].Seq, got[i].At = 0, epoch
			if i < len(want) {
				want[i].At = epoch
			}
			if got[i].Type == ken.EventRevised { // whether the evidence is all or new
				got[i].Evidence = nil
			}
			if len(got[i].Evidence) == 0 {
				got[i].Evidence = nil
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			k.Errorf("(-want +got):\n%s", diff)
		}
	})

	k.sub("the successor's history has it too", func(k *kit) {
		old, next := k.write("payments uses sagas"), k.write("payments uses two-phase commit")
		k.supersede(old, next)
		if types := k.historyTypes(next); !slices.Equal(types, []ken.EventType{ken.EventWritten, ken.EventSuperseded}) {
			k.Fatalf("history %v", types)
		}
		if e := k.history(next)[1]; e.Other != old || e.To != "" {
			k.Errorf("it reads as if the successor was superseded: %+v", e)
		}
	})

	k.sub("of an unknown claim", func(k *kit) {
		for _, id := range []string{"", "adr-7", uuid.NewString()} {
			k.wantErr(errOf(k.s.History(k.ctx, id)), ken.ErrNotFound, "")
		}
	})

	k.sub("is JSON that people can keep", func(k *kit) {
		id := k.write("payments uses sagas")
		k.transition(id, ken.StatusVerified)
		want := k.history(id)
		b, err := json.Marshal(want)
		k.must(err)
		var got []ken.ClaimEvent
		k.must(json.Unmarshal(b, &got))
		again, err := json.Marshal(got)
		if err != nil || string(again) != string(b) {
			k.Errorf("%s became %s, %v", b, again, err)
		}
	})
}

// checkTimes checks that events are in the order in which they happened, all after
// start.
func checkTimes(k *kit, events []ken.ClaimEvent, start time.Time) {
	k.Helper()
	var seq uint64
	for _, e := range events {
		if !e.At.After(start) || e.At.After(k.clock.Now()) {
			k.Errorf("%s at %v, after what happened at %v", e.Type, e.At, start)
		}
		if e.Seq != 0 && e.Seq <= seq {
			k.Errorf("%s has number %d after %d", e.Type, e.Seq, seq)
		}
		start, seq = e.At, e.Seq
	}
}
