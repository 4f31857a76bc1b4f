package cases_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/evals/cases"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/jsonl"
	"github.com/kenlayer/ken/middleware"
)

// project makes a project with a file and a live store of two owners, and returns
// its folder, its configuration and an export of everything.
func project(t *testing.T) (root string, cfg *config.Config, export string) {
	t.Helper()
	root = t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "harbour.md"), []byte("# Harbour\n\nThe harbour pilot boards at buoy seven.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Middleware.Events = false
	l, err := middleware.Open(context.Background(), middleware.Options{Root: root, Config: &c, Strict: true, Foreground: true, Embedder: embedtest.Bag{}})
	if err != nil {
		t.Fatal(err)
	}
	export = filepath.Join(t.TempDir(), "claims.jsonl")
	out, err := os.Create(export)
	if err != nil {
		t.Fatal(err)
	}
	for owner, text := range map[string]string{"default": "Deploys run on Tuesday.", "bob": "Deploys run on Sunday."} {
		s, release, err := l.Store(context.Background(), owner)
		if err != nil {
			t.Fatal(err)
		}
		claim, err := ken.NewClaim(text, ken.FromUserStatement("s", "m"))
		if err != nil {
			t.Fatal(err)
		}
		claim.Key = "deploys"
		if _, err := s.WriteClaim(context.Background(), claim); err != nil {
			t.Fatal(err)
		}
		for claim, err := range s.Claims(context.Background()) {
			if err == nil {
				err = jsonl.Write(out, claim, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		release()
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c.Middleware.Events = true // which a run of cases must not write
	return root, &c, export
}

// content is every file below a folder with its hash and its time.
func content(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() { // a folder, or the socket of a store that is open
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fi, err := d.Info()
		fmt.Fprintf(&b, "%s %x %s\n", path, sha256.Sum256(text), fi.ModTime())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const onBase = `
cases:
  - name: what the base knows
    ask: When do deploys run?
    must_inject: {key: deploys}
    must_not_inject: Sunday
    mode: hybrid
    other_owner_sees_nothing: bob
  - name: what bob knows
    owner: bob
    ask: When do deploys run?
    must_inject: on Sunday
  - name: what the files say
    ask: Where does the harbour pilot board?
    must_inject: [{source: harbour.md}, buoy seven]
  - name: given on top
    given: [{key: holidays, text: No deploys run on holidays.}]
    ask: When do deploys run, on holidays?
    must_inject: [{key: holidays}, {key: deploys}]
  - name: given is gone again
    ask: When do deploys run, on holidays?
    must_not_recall: {key: holidays}
`

func TestLiveStoreIsCopied(t *testing.T) {
	root, cfg, _ := project(t)
	before := content(t, root)
	o := cases.Options{Root: root, Config: cfg, Embedder: embedtest.Bag{}, State: filepath.Join(root, ".ken", "state")}
	for _, r := range run(t, onBase, o) {
		if !r.OK() {
			t.Errorf("%s:\n%s", r.Case.Name, r.Explain(""))
		}
	}
	o.GivenAlone = true
	if r := run(t, "cases: [{name: x, given: [], ask: When do deploys run?, block_empty: true}]", o)[0]; !r.OK() {
		t.Errorf("an empty given does not start from nothing:\n%s", r.Explain(""))
	}
	for _, r := range run(t, onBase, o) {
		if r.Case.Name == "given on top" {
			if !strings.Contains(r.Explain(""), "key deploys in the block") || len(r.Failures) != 1 {
				t.Errorf("given does not start from nothing:\n%s", r.Explain(""))
			}
		} else if !r.OK() {
			t.Errorf("%s:\n%s", r.Case.Name, r.Explain(""))
		}
	}
	if after := content(t, root); after != before {
		t.Errorf("the project changed:\n%s\n%s", before, after)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "ken-cases-*"))
	if err != nil || len(left) > 0 && os.Getenv("TMPDIR") != "" {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// A store that another process works on is copied by that one.
func TestALiveStoreThatIsHeldIsCopiedByItsHolder(t *testing.T) {
	root, cfg, _ := project(t)
	quiet := *cfg
	quiet.Middleware.Events = false
	holder, err := middleware.Open(t.Context(), middleware.Options{Root: root, Config: &quiet, Strict: true, Foreground: true, Embedder: embedtest.Bag{}})
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	_, release, err := holder.Store(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	release()
	before := logs(t, root)
	for _, r := range run(t, onBase, cases.Options{Root: root, Config: cfg, Embedder: embedtest.Bag{}, State: filepath.Join(root, ".ken", "state")}) {
		if !r.OK() {
			t.Errorf("%s:\n%s", r.Case.Name, r.Explain(""))
		}
	}
	if after := logs(t, root); after != before || !strings.Contains(before, "ken.db") {
		t.Errorf("the project changed:\n%s\n%s", before, after)
	}
}

// logs returns the lines of content for the files from which stores are rebuilt.
// An open store may write the other files at any time.
func logs(t *testing.T, dir string) string {
	var out []string
	for line := range strings.Lines(content(t, dir)) {
		if strings.Contains(line, "ken.db") || strings.Contains(line, ".vec") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

func TestExportIsTheBase(t *testing.T) {
	root, cfg, export := project(t)
	o := cases.Options{Root: root, Config: cfg, Embedder: embedtest.Bag{}, Export: export}
	for _, r := range run(t, onBase, o) {
		if !r.OK() {
			t.Errorf("%s:\n%s", r.Case.Name, r.Explain(""))
		}
	}
	// Whoever the export names takes part.
	if s := run(t, "cases: [{name: x, ask: When do deploys run?, must_inject: Sunday}]", o)[0].Explain(""); !strings.Contains(s, "another owner, bob") {
		t.Errorf("bob is not named:\n%s", s)
	}
	// Without a project there are no files, and that is no error.
	o.Root = ""
	for i, r := range run(t, onBase, o) {
		if r.OK() == (i == 2) {
			t.Errorf("%s:\n%s", r.Case.Name, r.Explain(""))
		}
	}
}

// A file of cases contains its questions and answers word for word, so a search must
// not find it.
func TestCasesDoNotFindThemselves(t *testing.T) {
	root, _, _ := project(t)
	path := filepath.Join(root, "tests [1] *.yaml")
	const text = "cases: [{name: x, ask: Where does the harbour pilot board?, must_inject: the lighthouse keeper},\n  {name: y, ask: Where does the lighthouse keeper live?, block_empty: true}]\n"
	for _, file := range []string{path, filepath.Join(root, "copy.yaml")} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := cases.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	found := func() (out []string) {
		err := cases.Run(context.Background(), f.Cases, cases.Options{Root: root, Config: words(), State: filepath.Join(root, ".ken", "state")}, func(r cases.Result) {
			for _, it := range r.Receipt.Items {
				out = append(out, it.Source)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := strings.Join(found(), " "); strings.Contains(got, "tests [1]") || !strings.Contains(got, "copy.yaml") {
		t.Errorf("found %s; the file's copy shows that it would have been", got)
	}
}

// A canary in a file of the repository is in no export, but search finds it.
func TestCanaryInTheRepository(t *testing.T) {
	root, _, export := project(t)
	r := run(t, "cases: [{name: x, ask: When do deploys run?, canaries: buoy SEVEN}]", cases.Options{Root: root, Config: words(), Export: export})[0]
	if s := r.Explain(""); len(r.Failures) != 1 || !strings.Contains(s, "for the canary itself, the keyword leg finds") || strings.Contains(s, "export") {
		t.Errorf("want a canary that search alone finds:\n%s", s)
	}
}

func TestBaseErrors(t *testing.T) {
	root, cfg, export := project(t)
	state := filepath.Join(root, ".ken", "state")
	f := parse(t, onBase)
	try := func(o cases.Options) error {
		o.Config = cfg
		return cases.Run(context.Background(), f.Cases, o, func(cases.Result) { t.Error("a result") })
	}
	wantError(t, try(cases.Options{State: state, Export: export}), ken.CodeInvalid, "a live store and an export")
	wantError(t, try(cases.Options{Export: filepath.Join(root, "none.jsonl")}), ken.CodeNotFound, "read export", "ken export --out")

	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	if err := os.WriteFile(bad, []byte("{\"text\":\"One.\"}\n{\"txet\":\"Two.\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantError(t, try(cases.Options{Export: bad}), ken.CodeInvalid, "bad.jsonl, line 2", "txet")

	held, err := bolt.Open(context.Background(), filepath.Join(state, "default"), bolt.Options{}) // it serves nobody
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, try(cases.Options{Root: root, State: state}), ken.CodeHeld, "held by another process", "ken export")
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, "default", "ken.db"), []byte(strings.Repeat("junk", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	wantError(t, try(cases.Options{Root: root, State: state}), ken.CodeCorrupt, "copy store")
}

// A gateway that is down costs the meaning, not the run, and a note says so.
func TestGatewayIsDown(t *testing.T) {
	cfg := config.Default()
	cfg.Knowledge.EmbedBaseURL, cfg.Knowledge.EmbedModel = "http://127.0.0.1:1/v1", "none"
	r := run(t, "given: [Deploys run on Tuesday.]\ncases: [{name: x, ask: When do deploys run?, must_inject: Tuesday, mode: keyword}]", cases.Options{Config: &cfg})[0]
	if !r.OK() || !strings.Contains(strings.Join(r.Notes, " "), "not everything of default is searchable") {
		t.Errorf("%s\n%q", r.Explain(""), r.Notes)
	}
}
