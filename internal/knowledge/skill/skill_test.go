package skill_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/skill"
)

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(skill.Skill{})); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func parse(t testing.TB, text string) skill.Skill {
	t.Helper()
	s, err := skill.Parse("notes/how.md", []byte(text))
	if err != nil {
		t.Fatalf("%v; %s", err, ken.Hint(err))
	}
	return s
}

func TestFrontMatterAsTheConventionHasIt(t *testing.T) {
	got := parse(t, `---
name: pdf-processing
description: >
  Extract text and tables from PDF files, fill forms.
  Use when the user mentions PDFs: "forms", scans.
license: Apache-2.0
compatibility: Requires python3 and network access
allowed-tools: Bash(git diff:*) Read Bash(jq:*)
metadata:
  author: example-org
  version: 1.0
  triggers: pdf, form field
  reviewed: true
unheard-of:
  nested: [1, 2]
---

# PDF Processing

1. Look at the pages.
`)
	equal(t, "skill", got, skill.Skill{Name: "pdf-processing", Title: "pdf-processing", License: "Apache-2.0",
		Description:   `Extract text and tables from PDF files, fill forms. Use when the user mentions PDFs: "forms", scans.`,
		Compatibility: "Requires python3 and network access", AllowedTools: []string{"Bash(git diff:*)", "Read", "Bash(jq:*)"},
		Triggers: []string{"pdf", "form field"}, Body: "1. Look at the pages.",
		Metadata: map[string]string{"author": "example-org", "version": "1.0", "triggers": "pdf, form field", "reviewed": "true"},
		Path:     "notes/how.md", Hash: got.Hash})
	if !strings.HasPrefix(got.Hash, "sha256:") || len(got.Hash) != 71 {
		t.Errorf("hash %q", got.Hash)
	}
}

func TestShapesOfFrontMatter(t *testing.T) {
	for name, tt := range map[string]struct {
		front string
		check func(skill.Skill) bool
	}{
		"list of tools": {"name: a\ndescription: d\nallowed-tools:\n  - Read\n  - Write", func(s skill.Skill) bool { return fmt.Sprint(s.AllowedTools) == "[Read Write]" }},
		"flow list":     {"name: a\ndescription: d\ntags: [ship, roll back]", func(s skill.Skill) bool { return len(s.Triggers) == 2 && s.Triggers[1] == "roll back" }},
		"commas":        {"name: a\ndescription: d\nallowed-tools: Read, Grep", func(s skill.Skill) bool { return fmt.Sprint(s.AllowedTools) == "[Read Grep]" }},
		"when to use":   {"name: a\ndescription: Ships.\nwhen_to_use: On release day.", func(s skill.Skill) bool { return s.Description == "Ships. On release day." }},
		"quoted":        {`name: "a"` + "\n" + `description: 'it''s: a test'`, func(s skill.Skill) bool { return s.Description == "it's: a test" }},
		"windows":       {"name: a\r\ndescription: d\r\n", func(s skill.Skill) bool { return s.Name == "a" && s.Body == "Do it." }},
		"spelled by people": {"name: Deploy to Production!\ndescription: d", func(s skill.Skill) bool {
			return s.Name == "deploy-to-production" && s.Title == "Deploy to Production!"
		}},
		"another script": {"name: 部署 手順\ndescription: d", func(s skill.Skill) bool { return s.Name == "部署-手順" }},
		"a number":       {"name: 404\ndescription: d", func(s skill.Skill) bool { return s.Name == "404" }},
		"empty values":   {"name:\ndescription:\nlicense:\nmetadata:\ntags:", func(s skill.Skill) bool { return s.Name == "how" && s.Description == "Do it." }},
		"nothing in it":  {"", func(s skill.Skill) bool { return s.Name == "how" }},
		"comments":       {"# who reads this\nname: a # b\ndescription: d", func(s skill.Skill) bool { return s.Name == "a" }},
	} {
		if s := parse(t, "---\n"+tt.front+"\n---\nDo it.\n"); !tt.check(s) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// A file that anybody would write needs no front matter.
func TestPlainMarkdown(t *testing.T) {
	for name, tt := range map[string]struct{ text, name, title, description, body string }{
		"heading first": {"\n# How to *ship* #\n\nBuild it,\nthen push it.\n\nMore.", "how-to-ship", "How to *ship*", "Build it, then push it.", "Build it,\nthen push it.\n\nMore."},
		"no heading":    {"Build it.\n\n# Later\n", "how", "how", "Build it.", "Build it.\n\n# Later"},
		"sections":      {"# Ship\n## When\n\n- on Mondays\n- on Tuesdays", "ship", "Ship", "- on Mondays - on Tuesdays", "## When\n\n- on Mondays\n- on Tuesdays"},
		"code first":    {"# Ship\n```\nmake\n```\nThat builds it.\n", "ship", "Ship", "That builds it.", "```\nmake\n```\nThat builds it."},
		"hash tag":      {"#ship it\n", "how", "how", "#ship it", "#ship it"},
		"mark":          {"\uFEFF# Ship\nIt.", "ship", "Ship", "It.", "It."},
	} {
		s := parse(t, tt.text)
		equal(t, name, []string{s.Name, s.Title, s.Description, s.Body}, []string{tt.name, tt.title, tt.description, tt.body})
		if s.Text() != tt.body {
			t.Errorf("%s: the claim says %q", name, s.Text())
		}
	}
}

// Who wrote the file must find the place, and know what to do.
func TestFaultsNameTheLine(t *testing.T) {
	for name, tt := range map[string]struct{ text, field, place, says string }{
		"no end":            {"---\nname: a\n\nDo it.", "", "how.md:1)", "no end"},
		"colon":             {"---\nname: a\ndescription: Use when: ever\n---\n", "", "how.md:3)", "not valid YAML"},
		"twice":             {"---\nname: a\ndescription: d\nname: b\n---\n", "", "how.md:4)", "not valid YAML"},
		"a list":            {"---\n- name\n---\nx", "", "how.md:2)", "not a list of settings"},
		"name of two lines": {"---\nname: |\n  a\n  b\ndescription: d\n---\n", "name", "how.md:2)", "several lines"},
		"name a list":       {"---\ndescription: d\nname: [a]\n---\n", "name", "how.md:3)", "not a plain value"},
		"name of nothing":   {"---\ndescription: d\nname: \"!?\"\n---\n", "name", "how.md:3)", "no letter"},
		"long name":         {"---\nname: " + strings.Repeat("n", 65) + "\ndescription: d\n---\n", "name", "how.md:2)", "65 characters; at most 64"},
		"long description":  {"---\nname: a\ndescription: " + strings.Repeat("é", 1025) + "\n---\n", "description", "how.md:3)", "1025 characters; at most 1024"},
		"metadata a word":   {"---\nname: a\ndescription: d\nmetadata: x\n---\n", "metadata", "how.md:4)", "not a list of settings"},
		"metadata nested":   {"---\nname: a\ndescription: d\nmetadata:\n  a:\n    b: c\n---\n", "metadata.a", "how.md:6)", "not a plain value"},
		"an anchor":         {"---\nname: &n a\ndescription: *n\n---\n", "name", "how.md:2)", "not a plain value"},
		"nothing":           {"", "description", "how.md)", "missing"},
		"only a heading":    {"# Ship\n", "description", "how.md)", "missing"},
		"not text":          {"\xff\xfe", "", "how.md)", "UTF-8"},
		"too long":          {strings.Repeat("x", skill.MaxBytes+1), "", "how.md)", "more than"},
		"brackets":          {"---\nname: " + strings.Repeat("[", 100_000) + "\n---\nx", "", "how.md:1)", "front matter of"},
		"deep":              {"---\nname: " + strings.Repeat("[", 1000) + "\n---\nx", "", "how.md:1)", "nested"},
		"dashes":            {"---\n" + strings.Repeat("- ", 1000) + "\n---\nx", "", "how.md:1)", "nested"},
	} {
		_, err := skill.Parse("how.md", []byte(tt.text))
		var e *ken.Error
		if !errors.Is(err, ken.ErrInvalid) || !errors.As(err, &e) || e.Field != tt.field || e.Try == "" ||
			!strings.Contains(err.Error(), tt.place) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v; try %q", name, err, ken.Hint(err))
		}
	}
}

// put writes a file below dir.
func put(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const deploy = "---\nname: deploy\ndescription: Ships.\n---\nSee [the checks](references/checks.md#top \"all\"), [again](./references/checks.md), [lost](gone.md),\n" +
	"[the site](https://example.org/x.md), [here](#below), [root](/etc/passwd), [all](scripts), and run [it](scripts/run.sh).\n"

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deploy")
	path := put(t, dir, "skill.md", deploy)
	put(t, dir, "references/checks.md", "12345")
	put(t, dir, "scripts/run.sh", "exit 1")
	put(t, dir, ".git/config", "no")
	put(t, dir, ".env", "no")
	outside := put(t, t.TempDir(), "secret", "no")
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Logf("no links here: %v", err)
	}
	for _, from := range []string{dir, path} {
		s, err := skill.Read(from)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "path", s.Path, path)
		equal(t, "files", s.Files, []skill.File{{Path: "references/checks.md", Size: 5}, {Path: "scripts/run.sh", Size: 6}})
		equal(t, "missing", s.Missing, []string{"gone.md"})
	}
	other := put(t, dir, "notes.md", "# Notes\nSee [x](y.md).")
	if s, err := skill.Read(other); err != nil || s.Files != nil || s.Missing != nil || s.Name != "notes" {
		t.Errorf("a file beside it: %+v, %v", s, err)
	}
	nameless := put(t, t.TempDir(), "roll-back/SKILL.md", "Undo it.")
	if s, err := skill.Read(nameless); err != nil || s.Name != "roll-back" {
		t.Errorf("named after its folder: %+v, %v", s, err)
	}
}

func TestFolderOfTooMuch(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "SKILL.md", deploy)
	for i := range skill.MaxFiles + 1 {
		put(t, dir, fmt.Sprintf("data/%d", i), "")
	}
	if _, err := skill.Read(dir); !errors.Is(err, ken.ErrInvalid) || !strings.Contains(err.Error(), "more than") {
		t.Errorf("%v", err)
	}
	big := t.TempDir()
	put(t, big, "SKILL.md", deploy)
	if err := os.Truncate(put(t, big, "movie", ""), skill.MaxFolderBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := skill.Read(big); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "no.md"), dir} {
		if _, err := skill.Read(path); !errors.Is(err, ken.ErrNotFound) || ken.Hint(err) == "" {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "SKILL.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := skill.Read(dir); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("a folder of that name: %v", err)
	}
}

func ExampleParse() {
	s, err := skill.Parse("deploy.md", []byte("# Deploy to production\n\nUse it to ship a release.\n\n1. Check CI.\n"))
	if err != nil {
		panic(err)
	}
	c, err := s.Claim("mo", time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC))
	if err != nil {
		panic(err)
	}
	fmt.Println(c.Key, "|", c.Heading, "|", s.Description, "|", c.Support(nil).Tier)
	// Output: playbook:deploy-to-production | Deploy to production | Use it to ship a release. | Inferred
}
