package finding

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

func open(t *testing.T) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(context.Background(), t.TempDir(), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// indexed is a file as the repository's index puts it.
func indexed(t *testing.T, path, content string) store.Document {
	t.Helper()
	e := ken.FromFile(path, "", "")
	e.ContentHash = hashOf(content)
	c, err := ken.NewClaim("piece of "+path, e)
	must(t, err)
	c.ID = uuid.NewSHA1(uuid.NameSpaceURL, []byte(content)).String()
	return store.Document{Path: path, Known: store.Known{Hash: hashOf(content)}, Chunks: []ken.Claim{c}}
}

func tierOf(t *testing.T, s *bolt.Store, words, id string) ken.Tier {
	t.Helper()
	res, err := s.Keyword(context.Background(), words, &ken.Filter{}, 10)
	must(t, err)
	for _, h := range res.Hits {
		if row, _ := s.Row(h.Ref); row.ID == id {
			return row.Support.Tier
		}
	}
	t.Fatalf("claim %s is not found by %q", id, words)
	return 0
}

// Rival layers serve what they once read of a file for ever. A finding falls with
// the content that it rests on.
func TestFindingStopsStandingWhenItsFileChanges(t *testing.T) {
	ctx := context.Background()
	s := open(t)
	must(t, s.PutDocuments(ctx, []store.Document{indexed(t, "store/log.go", logGo), indexed(t, "store/index.go", "v1")}))
	sc := newScript().call("Read", `{"file_path":"store/log.go"}`, logGo, "store/log.go", hashOf(logGo)).
		call("Grep", `{"pattern":"func Open"}`, "store/log.go\nstore/index.go", "store/log.go", hashOf(logGo), "store/index.go", hashOf("v1")).
		bash("make lint", "Exit code 2\nfatal: no linter")
	ids := map[Kind]string{}
	search := ""
	for _, f := range sc.findings() {
		id, err := s.WriteClaim(ctx, f.Claim(sc.Info))
		must(t, err)
		if f.Files != nil {
			search = id
			continue
		}
		ids[f.Kind] = id
	}
	check := func(step string, read, searched ken.Tier) {
		t.Helper()
		if got := tierOf(t, s, "package store declares", ids[Observation]); got != read {
			t.Errorf("%s: what the file is: %s, want %s", step, got, read)
		}
		if got := tierOf(t, s, "func Open", search); got != searched {
			t.Errorf("%s: where it is: %s, want %s", step, got, searched)
		}
		if got := tierOf(t, s, "make lint", ids[Pitfall]); got != ken.Inferred {
			t.Errorf("%s: a pitfall rests on no file: %s", step, got)
		}
	}
	check("at first", ken.Inferred, ken.Inferred)
	must(t, s.PutDocuments(ctx, []store.Document{indexed(t, "store/log.go", "changed")}))
	check("one file changed", ken.Guessed, ken.Inferred)
	must(t, s.RemoveDocuments(ctx, []string{"store/index.go"}))
	check("the other is gone", ken.Guessed, ken.Guessed)
	must(t, s.PutDocuments(ctx, []store.Document{indexed(t, "store/log.go", logGo)}))
	check("changed back", ken.Inferred, ken.Inferred)
}

// A later session's finding of the same file is a new version of the claim: there
// is one, and its history has both.
func TestLaterFindingRevises(t *testing.T) {
	ctx := context.Background()
	s := open(t)
	info := session.Info{About: session.About{ID: "s1", Project: "pay"}}
	f := Finding{Entity: "a.go", Kind: Change, Text: "a.go: changed Open", Path: "a.go", Hash: "sha256:1", Tool: "Edit", CallID: "c1", Seq: 2, At: someDay}
	first, err := s.WriteClaim(ctx, f.Claim(info))
	must(t, err)
	info.ID, f.Text, f.Hash, f.At = "s2", "a.go: changed Close", "sha256:2", someDay.AddDate(0, 0, 1)
	second, err := s.WriteClaim(ctx, f.Claim(info))
	must(t, err)
	if first != second {
		t.Errorf("two claims of one entity: %s and %s", first, second)
	}
	got, err := s.Query(ctx, ken.Query{Question: "changed"})
	must(t, err)
	history, err := s.History(ctx, first)
	must(t, err)
	if len(got) != 1 || got[0].Text != "a.go: changed Close" || len(history) != 2 {
		t.Errorf("%d claims, %d events", len(got), len(history))
	}
}

func TestClaim(t *testing.T) {
	info := session.Info{About: session.About{ID: "s1", Project: "pay", Branch: "main", Scope: ken.Scope{Type: ken.ScopeRepo, ID: "acme/pay"}}}
	code := 2
	file := Finding{Entity: "a.go", Kind: Observation, Text: "a.go is there", Path: "a.go", Hash: "sha256:1", Tool: "Read", CallID: "c1", Seq: 2, At: someDay}
	failed := Finding{Entity: "make lint", Kind: Pitfall, Text: "fails", Tool: "Bash", CallID: "c2", Seq: 4, At: someDay, ExitCode: &code}
	seen := Finding{Entity: "store/", Kind: Observation, Text: "store/ holds x", Tool: "LS", CallID: "c3", Seq: 6, At: someDay}
	page := Finding{Entity: "https://x.example", Kind: Observation, Text: "a page", Tool: "WebFetch", Seq: 8, At: someDay, External: true}
	for _, tt := range []struct {
		name    string
		f       Finding
		key     string
		kinds   string
		trust   ken.Trust
		tier    ken.Tier
		expires bool
	}{
		{"file", file, "finding:observation:a.go:repo:acme/pay", "file", ken.TrustAgent, ken.Inferred, false},
		{"exit code", failed, "finding:pitfall:make lint:repo:acme/pay", "exit_code", ken.TrustAgent, ken.Inferred, false},
		{"result", seen, "finding:observation:store/:repo:acme/pay", "tool_result", ken.TrustAgent, ken.Inferred, true},
		{"page", page, "finding:observation:https://x.example:repo:acme/pay", "tool_result", ken.TrustExternal, ken.Inferred, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := tt.f.Claim(info)
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			kinds := ""
			for _, e := range c.Evidence {
				kinds += string(e.Kind)
			}
			sup := c.Support(nil)
			if c.Key != tt.key || kinds != tt.kinds || sup.Trust != tt.trust || sup.Tier != tt.tier || c.ExpiresAt.IsZero() == tt.expires {
				t.Errorf("key %s, evidence %s, %s, %s, expires %v", c.Key, kinds, sup.Trust, sup.Tier, c.ExpiresAt)
			}
			if c.Kind != ken.KindFinding || c.Domain != string(tt.f.Kind) || c.Confidence != 0.85 || c.Status != ken.StatusObserved || c.Source != "s1" ||
				c.SourceType != "tool:"+tt.f.Tool || c.Session != "s1" || c.Branch != "main" || !c.CreatedAt.Equal(someDay) || c.Entities[0] != tt.f.Entity {
				t.Errorf("%+v", c)
			}
		})
	}
}

// Two projects of one owner have a go.mod each.
func TestKeysOfProjectsDiffer(t *testing.T) {
	f := Finding{Entity: "go.mod", Kind: Observation}
	a := f.Claim(session.Info{About: session.About{Project: "a"}})
	b := f.Claim(session.Info{About: session.About{Project: "b"}})
	none := f.Claim(session.Info{})
	if a.Key == b.Key || a.Key == none.Key || none.Key != "finding:observation:go.mod" {
		t.Error(a.Key, b.Key, none.Key)
	}
	long := make([]byte, 3000)
	for i := range long {
		long[i] = 'x'
	}
	f.Entity = string(long)
	one := f.Claim(session.Info{}).Key
	f.Entity += "y"
	if two := f.Claim(session.Info{}).Key; one == two || len(one) > 300 {
		t.Errorf("%d bytes, the same: %v", len(one), one == two)
	}
}
