package api_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
)

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
