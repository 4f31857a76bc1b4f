package skill_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/skill"
	"github.com/kenlayer/ken/internal/store/bolt"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func TestClaimIsWholeAndAttributed(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "SKILL.md", strings.Replace(deploy, "description", "tags: [ship]\nlicense: MIT\nallowed-tools: Bash\ndescription", 1)+strings.Repeat("Step.\n", 20_000))
	put(t, dir, "scripts/run.sh", "exit 1")
	s, err := skill.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim("mo", noon)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(c.Text, "Ships.\n\nSee [the checks]") || len(c.Text) < 100_000 {
		t.Errorf("%d bytes, beginning %.40q", len(c.Text), c.Text)
	}
	equal(t, "key and heading", []string{c.Key, c.Heading, string(c.Kind), c.Source, c.SourceType, c.Tags[0]},
		[]string{"playbook:deploy", "deploy", "playbook", path, "skill", "ship"})
	var body skill.Body
	if err := json.Unmarshal(c.Body, &body); err != nil {
		t.Fatal(err)
	}
	equal(t, "body", body, skill.Body{Name: "deploy", License: "MIT", AllowedTools: []string{"Bash"}, Files: s.Files, Hash: s.Hash})
	sup := c.Support(nil)
	equal(t, "support", []any{sup.Tier, sup.Trust}, []any{ken.Inferred, ken.TrustOperator})
}

// Adding a playbook again changes nothing; a new version of it is a new version of
// the same claim; and what a person has added stands while the file is edited.
func TestPlaybookStandsUntilItIsUpdated(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	put(t, dir, "SKILL.md", deploy)
	st, err := bolt.Open(ctx, t.TempDir(), bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	add := func(at time.Time) (string, ken.Claim) {
		t.Helper()
		s, err := skill.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Claim("mo", at)
		if err != nil {
			t.Fatal(err)
		}
		id, err := st.WriteClaim(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := st.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return id, got
	}
	first, _ := add(noon)
	again, _ := add(noon.Add(time.Hour))
	events, err := st.History(ctx, first)
	if err != nil || again != first || len(events) != 1 {
		t.Errorf("added twice: %s and %s, %d events, %v", first, again, len(events), err)
	}

	edited := strings.Replace(deploy, "Ships.", "Ships it, and watches it.", 1)
	if err := os.WriteFile(dir+"/SKILL.md", []byte(edited), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := st.Get(ctx, first); err != nil || !strings.HasPrefix(got.Text, "Ships.") || got.Support(nil).Tier != ken.Inferred {
		t.Errorf("while the file is edited: %+v, %v", got, err)
	}
	id, got := add(noon.Add(2 * time.Hour))
	if id != first || !strings.HasPrefix(got.Text, "Ships it, and watches it.") || len(got.Evidence) != 2 {
		t.Errorf("updated: %s, %+v", id, got)
	}
}
