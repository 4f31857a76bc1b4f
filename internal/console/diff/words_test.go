package diff

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/seed"
)

func Example() {
	for _, p := range Words("The client waits ten seconds, then twice as long.", "The client waits five seconds, then gives up.") {
		fmt.Printf("%-4s %q\n", p.Op, p.Text)
	}
	// Output:
	// same "The client waits "
	// gone "ten"
	// new  "five"
	// same " seconds, then "
	// gone "twice as long"
	// new  "gives up"
	// same "."
}

func TestWords(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after string
		want          []Piece
	}{
		"nothing":                {"", "", nil},
		"the same":               {"as it was", "as it was", []Piece{{Same, "as it was"}}},
		"from nothing":           {"", "all new", []Piece{{New, "all new"}}},
		"to nothing":             {"all gone", "", []Piece{{Gone, "all gone"}}},
		"a word":                 {"port 8071", "port 8072", []Piece{{Same, "port "}, {Gone, "8071"}, {New, "8072"}}},
		"a word put in":          {"the port", "the old port", []Piece{{Same, "the "}, {New, "old "}, {Same, "port"}}},
		"a sentence at the end":  {"One.", "One. Two.", []Piece{{Same, "One."}, {New, " Two."}}},
		"words become one":       {"a b c", "x", []Piece{{Gone, "a b c"}, {New, "x"}}},
		"space between changes":  {"keep a b keep", "keep c d keep", []Piece{{Same, "keep "}, {Gone, "a b"}, {New, "c d"}, {Same, " keep"}}},
		"space after the change": {"a b", "c b", []Piece{{Gone, "a"}, {New, "c"}, {Same, " b"}}},
		"letters with marks":     {"nai\u0308ve", "naive", []Piece{{Gone, "nai\u0308ve"}, {New, "naive"}}},
		"no text":                {"a\xffb", "a\xfeb", []Piece{{Same, "a"}, {Gone, "\xff"}, {New, "\xfe"}, {Same, "b"}}},
	} {
		if d := cmp.Diff(tt.want, Words(tt.before, tt.after)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// kept fails unless the pieces make up the two texts, and no operation occurs twice in a row.
func kept(t *testing.T, before, after string, pieces []Piece) (edits int) {
	t.Helper()
	var a, b strings.Builder
	last := Op("")
	for _, p := range pieces {
		if p.Text == "" || p.Op == last || last == New && p.Op == Gone {
			t.Fatalf("%q to %q: %q", before, after, pieces)
		}
		last = p.Op
		if p.Op != New {
			a.WriteString(p.Text)
		}
		if p.Op != Gone {
			b.WriteString(p.Text)
		}
		if p.Op != Same {
			edits += len(words(p.Text))
		}
	}
	if a.String() != before || b.String() != after {
		t.Fatalf("%q to %q became %q to %q", before, after, a.String(), b.String())
	}
	return edits
}

// The search finds as few edits as the textbook's table of all prefixes does.
func TestFewestEdits(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed.Of(t), 0))
	text := func() []string {
		out := make([]string, rng.IntN(14))
		for i := range out {
			out[i] = string(rune('a' + rng.IntN(4)))
		}
		return out
	}
	for range 3000 {
		a, b := text(), text()
		trace := search(a, b)
		if got, want := len(trace)-1, fewest(a, b); got != want {
			t.Fatalf("%q to %q in %d edits, want %d", a, b, got, want)
		}
		edits := 0
		var before, after []string
		for _, p := range backtrack(trace, a, b) {
			if p.Op != Same {
				edits++
			}
			if p.Op != New {
				before = append(before, p.Text)
			}
			if p.Op != Gone {
				after = append(after, p.Text)
			}
		}
		if !slices.Equal(before, a) || !slices.Equal(after, b) {
			t.Fatalf("%q to %q: the way leads from %q to %q", a, b, before, after)
		}
		if edits != len(trace)-1 {
			t.Fatalf("%q to %q: %d edits on the way, want %d", a, b, edits, len(trace)-1)
		}
		kept(t, strings.Join(a, "."), strings.Join(b, "."), Words(strings.Join(a, "."), strings.Join(b, ".")))
	}
}

func fewest(a, b []string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			was := row[j+1]
			if row[j+1] = min(row[j], was) + 1; a[i] == b[j] {
				row[j+1] = diagonal
			}
			diagonal = was
		}
	}
	return row[len(b)]
}

// For texts with nothing in common, one is removed and one is new, however long they are.
func TestNothingInCommon(t *testing.T) {
	before, after := strings.Repeat("old word, ", 20_000), strings.Repeat("new thing; ", 20_000)
	got := Words(before, after)
	kept(t, before, after, got)
	if len(got) != 3 || got[0].Op != Gone || got[1].Op != New { // the last space is the same
		t.Errorf("%d pieces", len(got))
	}
}

func FuzzWords(f *testing.F) {
	f.Add("one two", "one three")
	f.Add("", "\xff \u202e")
	f.Add("a a a b", "b a a a")
	f.Fuzz(func(t *testing.T, before, after string) { kept(t, before, after, Words(before, after)) })
}
