package foreign_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/foreign"
)

// fuzz checks that for any input, a claim is valid and has a key, an error has advice, and
// reading again gives the same result.
func fuzz(f *testing.F, format foreign.Format, seeds ...string) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && !strings.HasSuffix(file, ".want") {
			f.Add(string(b))
		}
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		read := func() []foreign.Item {
			return slices.Collect(foreign.Read(strings.NewReader(text), format, foreign.Options{Name: "f"}))
		}
		items, again := read(), read()
		if len(items) != len(again) {
			t.Fatalf("%d entries, then %d", len(items), len(again))
		}
		for i, it := range items {
			switch {
			case it.Err != nil:
				if !errors.Is(it.Err, ken.ErrInvalid) {
					t.Fatalf("entry %d: %v", it.N, it.Err)
				}
			case it.Skip == "":
				c := it.Claim
				if err := c.Validate(); err != nil || c.Key == "" && c.ID == "" {
					t.Fatalf("entry %d: %+v, %v", it.N, c, err)
				}
				if c.Key != again[i].Claim.Key {
					t.Fatalf("entry %d: key %s, then %s", it.N, c.Key, again[i].Claim.Key)
				}
			}
		}
		if format == foreign.Claims {
			return
		}
		for range foreign.Read(strings.NewReader(text), format, foreign.Options{Name: "f"}) {
			break // a caller may stop
		}
	})
}

func FuzzMem0(f *testing.F)  { fuzz(f, foreign.Mem0, `[[[{"memory":" "}]]]`, `{"results":"x"}`) }
func FuzzZep(f *testing.F)   { fuzz(f, foreign.Zep, `{"edges":[{"fact":null}]}`) }
func FuzzLetta(f *testing.F) { fuzz(f, foreign.Letta, `"\"{\\\"blocks\\\":[]}\""`) }
func FuzzChatGPT(f *testing.F) {
	fuzz(f, foreign.ChatGPT, `[{"mapping":{"a":null,"b":{"message":{"create_time":1e300}}}}]`)
}
func FuzzMarkdown(f *testing.F) {
	fuzz(f, foreign.Obsidian, "---\n---\n", "> > - [ ] a\n\t- b\n```\n", "# #\n[[|]]\n**a:**\n1. x")
}
func FuzzCursor(f *testing.F) { fuzz(f, foreign.Cursor, "---\ndescription: x\nglobs:\n---\ny z") }
func FuzzCSV(f *testing.F)    { fuzz(f, foreign.CSV, "text;tags\na;b;c\n", "text\n\"a") }

func FuzzGuess(f *testing.F) {
	f.Add("a.json", "[{")
	f.Fuzz(func(t *testing.T, name, head string) {
		if format, err := foreign.Guess(name, []byte(head)); (err == nil) != (format != "") {
			t.Fatalf("%q, %v", format, err)
		}
	})
}
