package consolidate

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/race"
)

var update = flag.Bool("update", false, "write the golden file anew")

// Statements of different pairs have nothing to do with each other, but for those
// that testdata/cross.golden lists, each of them looked at by a person. It is the
// precision of the decision among tens of thousands of pairs that nobody chose.
func TestUnrelatedStatementsStayApart(t *testing.T) {
	race.SkipLong(t)
	var all []string
	pair := map[[2]string]bool{}
	for _, file := range files {
		for i, j := range load(t, file) {
			if !j.Trap && i%3 > 0 {
				continue
			}
			all = append(all, j.Old, j.New)
			pair[[2]string{j.Old, j.New}], pair[[2]string{j.New, j.Old}] = true, true
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	var lines []string
	texts := make([]text, len(all))
	for i, s := range all {
		texts[i] = read(s)
	}
	for i, a := range all {
		for k, b := range all {
			if a == b || pair[[2]string{a, b}] {
				continue
			}
			if v := compare(&texts[i], &texts[k], Statement{Text: a}, Statement{Text: b}); v.Relation != Distinct {
				lines = append(lines, string(v.Relation)+" | "+a+" | "+b)
			}
		}
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile("testdata/cross.golden", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/cross.golden")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d pairs of %d statements, %d not distinct", len(all)*(len(all)-1), len(all), len(lines))
	for _, l := range lines {
		if !strings.Contains(string(want), l+"\n") {
			t.Errorf("not distinct: %s", l)
		}
	}
	if got != string(want) && !t.Failed() {
		t.Error("testdata/cross.golden lists pairs that are distinct now: write it anew with -update")
	}
}
