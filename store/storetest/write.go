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
		if err != nil {
			k.Fatal(err)
		}
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
		if err != nil {
			k.Fatal(err)
		}
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
		if n := len(k.history(strings.ToUpper(id))); n != 2 {
			k.Errorf("%d events", n)
		}
	})

	k.sub("a known id must carry the same content", func(k *kit) {
		c := claim("payments uses sagas", func(c *ken.Claim) { c.ID = "0198a000-0000-7000-8000-0000000000ac" })
		for range 2 {
			if id, err := k.s.WriteClaim(k.ctx, c); err != nil || id != c.ID {
				k.Fatalf("%q, %v", id, err)
			}
		}
		if n := len(k.history(c.ID)); n != 1 {
			k.Errorf("the same write left %d events", n)
		}
		c.Text = "payments uses two-phase commit"
		_, err := k.s.WriteClaim(k.ctx, c)
		k.wantErr(err, ken.ErrExists, "id")
		if got := k.get(c.ID).Text; got != "payments uses sagas" {
			k.Errorf("a refused write changed the text to %q", got)
		}
	})

	k.sub("the same fact twice loses neither", func(k *kit) {
		a, b := k.write("payments uses sagas"), k.write("payments uses sagas")
		if a == b {
			k.Fatal("two claims share an id")
		}
		if found := k.ask("sagas"); !sameSet(found, []string{a, b}) {
			k.Errorf("found %v, want both of %s and %s", found, a, b)
		}
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
		if n := len(k.history(first)); n != 1 {
			k.Errorf("repeating a write left %d events", n)
		}
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
		if found := k.ask("sagas"); len(found) != 0 {
			k.Error("the old version is still found by its words")
		}
		if found := k.ask("orchestration"); !slices.Equal(found, []string{id}) {
			k.Errorf("the new version is found as %v", found)
		}
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
		if found := k.ask("sagas"); len(found) != 0 {
			k.Error("a superseded claim is found again because its source was read again")
		}
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
		_, err := k.s.WriteClaim(k.ctx, claim("payments uses sagas", tt.change))
		k.wantErr(err, ken.ErrInvalid, tt.field)
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
