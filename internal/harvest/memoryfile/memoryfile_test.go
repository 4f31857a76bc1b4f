package memoryfile_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/store/memory"
)

var update = flag.Bool("update", false, "rewrite the golden file")

var day = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// shop is a store with two hot claims, an approved pattern and two candidates.
func shop(t testing.TB) memory.Store {
	t.Helper()
	now, n := day, 0
	s := memory.New(memory.Options{Now: func() time.Time { return now },
		NewID: func() string { n++; return fmt.Sprintf("01900000-0000-7000-8000-%012d", n) }})
	for _, c := range []ken.Claim{
		{Kind: ken.KindHot, Text: "Use tabs in Makefiles."},
		{Kind: ken.KindHot, Text: "Never write --> or <!-- into\n  the changelog & co."},
		{Kind: ken.KindPattern, Text: "Test passes: TestLedger", Key: "pattern:test:1"},
		{Kind: ken.KindPattern, Text: "Shell command succeeds: `go test ./...`", Status: ken.StatusHypothesis, Key: "pattern:ok:1"},
		{Kind: ken.KindPattern, Text: "Shell command fails repeatedly: make e2e", Status: ken.StatusHypothesis, Key: "pattern:fail:1"},
	} {
		c.Confidence, c.Evidence = 1, []ken.Evidence{ken.FromExitCode("go test ./...", 0)}
		id, err := s.WriteClaim(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(c.Text, "fails") {
			for range 3 {
				if err := s.Reinforce(t.Context(), id, nil, ken.Actor{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		now = now.Add(time.Minute)
	}
	return s
}

func options(path string) memoryfile.Options {
	return memoryfile.Options{Path: path, By: "ana", Now: func() time.Time { return day }, Write: true}
}

func sync(t testing.TB, s memory.Store, path string) memoryfile.Report {
	t.Helper()
	r, err := memoryfile.Sync(t.Context(), s, options(path))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// edit replaces one part of the file.
func edit(t testing.TB, path, old, with string) {
	t.Helper()
	s := read(t, path)
	if strings.Count(s, old) != 1 {
		t.Fatalf("%q is not in the file once:\n%s", old, s)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(s, old, with, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestGolden(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".ken", "knowledge", memoryfile.Name)
	if r := sync(t, shop(t), path); !r.Written {
		t.Error("nothing was written")
	}
	const golden = "testdata/MEMORY.md"
	if *update {
		if err := os.WriteFile(golden, []byte(read(t, path)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(read(t, golden), read(t, path)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestAFileThatNobodyTouchedChangesNothing(t *testing.T) {
	s, path := shop(t), filepath.Join(t.TempDir(), memoryfile.Name)
	sync(t, s, path)
	if r := sync(t, s, path); r != (memoryfile.Report{}) {
		t.Errorf("%+v", r)
	}
}

func TestEdits(t *testing.T) {
	for _, tc := range []struct {
		name, old, with string
		report          memoryfile.Report
		text            string // of a claim that must be there
		status          ken.Status
	}{
		{"ticking a box approves", "- [ ] Shell command succeeds", "- [x] Shell command succeeds", memoryfile.Report{Approved: 1},
			"Shell command succeeds: `go test ./...`", ken.StatusObserved},
		{"a dash rejects", "- [ ] Shell command fails", "- [-] Shell command fails", memoryfile.Report{Rejected: 1},
			"Shell command fails repeatedly: make e2e", ken.StatusDisputed},
		{"an emptied box makes it a candidate again", "- [x] Test passes", "- [ ] Test passes", memoryfile.Report{Demoted: 1},
			"Test passes: TestLedger", ken.StatusHypothesis},
		{"a changed text replaces the claim", "Use tabs in Makefiles.", "Use tabs in Makefiles and Go.", memoryfile.Report{Edited: 1},
			"Use tabs in Makefiles and Go.", ken.StatusObserved},
		{"the text that was changed is superseded", "Use tabs in Makefiles.", "Use spaces.", memoryfile.Report{Edited: 1},
			"Use tabs in Makefiles.", ken.StatusSuperseded},
		{"a new line is hot", "## Candidates", "- [x] Deploys need a ticket.\n\n## Candidates", memoryfile.Report{Added: 1},
			"Deploys need a ticket.", ken.StatusObserved},
		{"a colleague's line is adopted", "## Candidates",
			"- [x] Staging is shared. <!-- ken:01900000-0000-7000-8000-00000000ffff pattern, seen 9 times, last 2026-01-01 -->\n\n## Candidates",
			memoryfile.Report{Added: 1}, "Staging is shared.", ken.StatusObserved},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, path := shop(t), filepath.Join(t.TempDir(), memoryfile.Name)
			sync(t, s, path)
			edit(t, path, tc.old, tc.with)
			tc.report.Written = true
			if got := sync(t, s, path); got != tc.report {
				t.Errorf("report %+v, want %+v", got, tc.report)
			}
			all, err := s.Query(t.Context(), ken.Query{Limit: 100, Filter: ken.Filter{Statuses: ken.Statuses()}})
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, c := range all {
				found = found || c.Text == tc.text && c.Status == tc.status
			}
			if !found {
				t.Errorf("no claim %q that is %s", tc.text, tc.status)
			}
			if again := sync(t, s, path); again != (memoryfile.Report{}) {
				t.Errorf("a second time: %+v", again)
			}
		})
	}
}

// Systems that load what they can't read as empty overwrite it with the next write.
func TestAFileEditedIntoSomethingInvalidIsRefusedAndNeverOverwritten(t *testing.T) {
	for with, line := range map[string]string{
		"- [?] Use tabs":  "MEMORY.md:9",
		"- Use tabs":      "MEMORY.md:9",
		"-[x] Use tabs":   "MEMORY.md:9",
		"- [x]":           "MEMORY.md:9",
		"- [x] \xff tabs": "MEMORY.md: ",
	} {
		s, path := shop(t), filepath.Join(t.TempDir(), memoryfile.Name)
		sync(t, s, path)
		edit(t, path, "- [x] Use tabs in Makefiles.", with)
		edit(t, path, "- [ ] Shell command succeeds", "- [x] Shell command succeeds") // must not be applied either
		before := read(t, path)
		_, err := memoryfile.Sync(t.Context(), s, options(path))
		if !errors.Is(err, ken.ErrInvalid) || !strings.HasPrefix(err.Error(), strings.TrimSpace(line)) || ken.Hint(err) == "" {
			t.Errorf("%q: error %v, want one for %s", with, err, line)
		}
		if read(t, path) != before {
			t.Errorf("%q: the file was overwritten", with)
		}
		if c, err := s.Get(t.Context(), "01900000-0000-7000-8000-000000000004"); err != nil || c.Status != ken.StatusHypothesis {
			t.Errorf("%q: part of it was applied: %v %v", with, c.Status, err)
		}
	}
}

func TestWhatWasForgottenIsNotBroughtBackByTheFile(t *testing.T) {
	s, path := shop(t), filepath.Join(t.TempDir(), memoryfile.Name)
	sync(t, s, path)
	edit(t, path, "# Memory", "# Our memory") // so that it counts as edited
	forgotten := forgetful{s, "01900000-0000-7000-8000-000000000001"}
	r, err := memoryfile.Sync(t.Context(), forgotten, options(path))
	if err != nil || r.Added != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// forgetful is a store in which one claim was forgotten: its history is all that
// is left.
type forgetful struct {
	memory.Store
	id string
}

func (f forgetful) Get(ctx context.Context, id string) (ken.Claim, error) {
	if id == f.id {
		return ken.Claim{}, ken.ErrNotFound
	}
	return f.Store.Get(ctx, id)
}

func FuzzParse(f *testing.F) {
	f.Add(string(memoryfile.Render(nil)))
	f.Add("- [x] a <!-- ken:01900000-0000-7000-8000-000000000001 hot -->\n- [-] b\n")
	f.Add("- [x] &lt;!-- --> <!-- ken: -->\n<!-- ken:sum -->")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := memoryfile.Parse([]byte(text))
		if err != nil {
			if !errors.Is(err, ken.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		for _, l := range file.Lines {
			if l.Text == "" || strings.ContainsAny(l.Text, "\n\r") || l.Number < 1 {
				t.Fatalf("%+v", l)
			}
		}
	})
}

// What is written is read back as it was, whatever the text.
func FuzzRender(f *testing.F) {
	f.Add("a --> b <!-- ken:x --> &amp; c")
	f.Add("line\nline\t\u00a0x")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ken.NewClaim(text, ken.FromHumanAssertion("ana", day, ""))
		if err != nil {
			return
		}
		c.Kind, c.ID = ken.KindHot, "01900000-0000-7000-8000-000000000001"
		file, err := memoryfile.Parse(memoryfile.Render([]ken.Claim{c}))
		if err != nil || file.Edited || len(file.Lines) != 1 {
			t.Fatalf("%q: %+v, %v", text, file, err)
		}
		if want := strings.Join(strings.Fields(text), " "); file.Lines[0].Text != want {
			t.Fatalf("%q, want %q", file.Lines[0].Text, want)
		}
	})
}

func ExampleRender() {
	c := ken.Claim{ID: "01900000-0000-7000-8000-000000000001", Kind: ken.KindHot, Text: "Use tabs in Makefiles."}
	for line := range strings.Lines(string(memoryfile.Render([]ken.Claim{c}))) {
		if strings.HasPrefix(line, "- ") {
			fmt.Print(line)
		}
	}
	// Output: - [x] Use tabs in Makefiles. <!-- ken:01900000-0000-7000-8000-000000000001 hot -->
}
