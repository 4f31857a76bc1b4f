package memory

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/store/jsonl"
	"github.com/kenlayer/ken/store"
)

// Ctrl-C must end a command that waits for a terminal or a pipe.
func TestUntilEndsAlthoughTheInputWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	forever := make(chan struct{})
	defer close(forever)
	seq := func(yield func(int) bool) {
		yield(1)
		<-forever
	}
	var got []int
	for v := range untilDone(ctx, seq) {
		got = append(got, v)
		cancel()
	}
	if !slices.Equal(got, []int{1}) {
		t.Errorf("got %v", got)
	}
}

func TestUntilYieldsEverythingInOrder(t *testing.T) {
	want := make([]int, 1000)
	for i := range want {
		want[i] = i
	}
	if got := slices.Collect(untilDone(t.Context(), slices.Values(want))); !slices.Equal(got, want) {
		t.Errorf("got %d values", len(got))
	}
}

// full is a store that has room for the batches that begin with the text "fits".
type full struct{ store.Engine }

func (full) Import(_ context.Context, in []store.Incoming) []store.Outcome {
	out := make([]store.Outcome, len(in))
	if in[0].Claim.Text != "fits" {
		for i := range out {
			out[i].Err = &ken.Error{Code: ken.CodeUnavailable, Msg: "no space left on device", Try: "Make room."}
		}
	}
	return out
}

func (full) Owner() string { return ken.DefaultOwner }

// An import that finds no room says so once, where, and does not try the rest.
func TestImportStopsWhereTheDiskIsFull(t *testing.T) {
	var said strings.Builder
	im := &importer{s: full{}, tell: &said, progress: (&cli.App{Quiet: true}).Progress()}
	for n := range 10 * importBatch {
		if im.stopped != nil {
			break
		}
		l := jsonl.Line{N: n + 1}
		if n < importBatch {
			l.Claim.Text = "fits"
		}
		im.add(t.Context(), "f", l)
	}
	for len(im.flight) > 0 {
		im.settle()
	}
	if im.stopped == nil || !strings.Contains(im.stopped.Error(), "stopped at f:1001: no space") || !strings.Contains(ken.Hint(im.stopped), "Make room. Then import") {
		t.Errorf("%v, %s", im.stopped, ken.Hint(im.stopped))
	}
	if said.String() != "" || im.sum.Unchanged != importBatch || im.sum.Failed > 4*importBatch {
		t.Errorf("%+v, said %q", im.sum, said.String())
	}
}

func FuzzParseQuestion(f *testing.F) {
	for _, s := range []string{"why?", `{"id":1,"question":"why?","scope":"run:1"}`, `{"question":""}`, `{`, `{"id":[1,{"a":null}],"question":"x"} y`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.TrimSpace(line) == "" {
			return // the batch skips it
		}
		q, err := parseQuestion(line)
		if err != nil {
			return
		}
		if strings.TrimSpace(q.Question) == "" {
			t.Errorf("%q is an empty question", line)
		}
		if _, err := json.Marshal(batchAnswer{batchQuestion: q}); err != nil {
			t.Errorf("%q can't be answered: %v", line, err)
		}
	})
}

// The letters that other keys send must not decide anything, however the bytes of
// a key arrive.
func TestEscapesAreNoLetters(t *testing.T) {
	for _, tt := range []struct{ name, typed, want string }{
		{"letters", "are", "are"},
		{"arrows", "\x1b[A\x1b[B\x1bOAa", "a"},
		{"an arrow with Shift", "\x1b[1;2Aa", "a"},
		{"a function key", "\x1b[15~a\x1bOPr", "ar"},
		{"Alt and a letter", "\x1baa", "a"},
		{"Escape twice", "\x1b\x1b[Aa", "a"},
		{"Ctrl-C after Escape", "\x1b\x03", "\x03"},
		{"Ctrl-C in an arrow", "\x1b[\x03a", "\x03a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var e escapes
			got := ""
			for _, r := range tt.typed {
				if r = e.next(r); r != noKey {
					got += string(r)
				}
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// Only the files in which the user tells an agent what to do are the user's word. Agents, extensions
// and clones of strangers write to the folders around them.
func TestOwnRules(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for _, tt := range []struct {
		path string
		want bool
	}{
		{".claude/CLAUDE.md", true},
		{".claude/rules/go.md", true},
		{".claude/rules/work/go.md", true},
		{".codex/AGENTS.md", true},
		{".codex/AGENTS.override.md", true},
		{".gemini/GEMINI.md", true},
		{".cursor/rules/a.mdc", true},
		{".claude/plugins/marketplaces/stranger/CLAUDE.md", false},
		{".claude/projects/shop/memory/MEMORY.md", false},
		{".claude/rules/stranger/CLAUDE.md", false}, // a clone: see below
		{".claude/rules/stranger/rules/go.md", false},
		{".codex/plugins/AGENTS.md", false},
		{".cursor/extensions/x/.cursorrules", false},
		{".gemini/extensions/x/GEMINI.md", false},
		{".config/nvim/pack/x/CLAUDE.md", false},
		{"project/.claude/CLAUDE.md", false},
		{"project/CLAUDE.md", false},
	} {
		path := filepath.Join(home, filepath.FromSlash(tt.path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		// A repository of the user around the folder takes nothing away, one in it does.
		for _, repo := range []string{".claude/.git", ".claude/rules/stranger/.git"} {
			if err := os.MkdirAll(filepath.Join(home, repo), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if got := ownRules(path); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.path, got, tt.want)
		}
	}

	stranger := filepath.Join(home, "project", "CLAUDE.md")
	link := filepath.Join(home, ".claude", "rules", "link.md")
	if err := os.Symlink(stranger, link); err != nil {
		t.Skip(err)
	}
	if ownRules(link) {
		t.Error("a link to a file elsewhere is the user's word")
	}
	dotfiles := filepath.Join(home, "dotfiles", "GEMINI.md")
	if err := os.Mkdir(filepath.Dir(dotfiles), 0o700); err != nil {
		t.Fatal(err)
	}
	gemini := filepath.Join(home, ".gemini", "GEMINI.md")
	if err := os.Rename(gemini, dotfiles); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dotfiles, gemini); err != nil {
		t.Fatal(err)
	}
	if !ownRules(gemini) {
		t.Error("GEMINI.md is kept with other dotfiles, and is not the user's word")
	}
}

// An edited sentence is told from another one, in any script.
func TestLikeness(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"The index is rebuilt at 02:30.", "The index is rebuilt at 03:15.", true},
		{"Ask Mira before you order disks.", "Ask Otto before you order disks.", true},
		{"Run `make test` before every commit.", "Run `make check` before every commit and push.", true},
		{"Die Heizung ist seit Ostern defekt.", "Die Heizung ist seit Pfingsten defekt.", true},
		{"会议在每周二上午十点举行。", "会议在每周四上午十点举行。", true},
		{"サーバーは東京にあります。", "サーバーは大阪にあります。", true},
		{"The gate code is changed monthly.", "Only Hanna may sign customs papers.", false},
		{"Use tabs.", "Deploys are on Monday.", false},
		{"Das Klavier wird gestimmt.", "Der Bagger gehört der Gemeinde.", false},
		{"会议在每周二上午十点举行。", "数据库每晚备份一次。", false},
		{"x", "x", false},
		{"", "The gate code.", false},
	} {
		if got := likeness(tt.a, tt.b); got > 0.5 != tt.same || got != likeness(tt.b, tt.a) {
			t.Errorf("%q and %q: %.2f", tt.a, tt.b, got)
		}
	}
}
