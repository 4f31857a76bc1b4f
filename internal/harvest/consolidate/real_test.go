package consolidate

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/race"
)

// People say much that is alike. Among the sentences of real conversations that
// share two words or more, next to none are taken for one another, and whoever
// runs the test sees which.
func TestRealSentencesStayApart(t *testing.T) {
	race.SkipLong(t)
	f, err := os.Open(filepath.Join(evaldata.Dir(t, "locomo-dev"), "corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const turns = 500
	end := regexp.MustCompile(`[.!?\n]+\s*`)
	var said []string
	seen := map[string]bool{}
	in := bufio.NewScanner(f)
	for n := 0; n < turns && in.Scan(); n++ {
		var turn struct{ Text string }
		if err := json.Unmarshal(in.Bytes(), &turn); err != nil {
			t.Fatal(err)
		}
		_, words, _ := strings.Cut(turn.Text, ": ")
		for _, s := range end.Split(words, -1) {
			if len(strings.Fields(s)) >= 3 && !seen[strings.ToLower(s)] {
				seen[strings.ToLower(s)] = true
				said = append(said, s)
			}
		}
	}
	texts := make([]text, len(said))
	index := map[string][]int{}
	compared, merged := 0, 0
	for i, s := range said {
		texts[i] = read(s)
		near := map[int]int{}
		mine := map[string]bool{}
		for k := range texts[i].words {
			if w := &texts[i].words[k]; isContentWord(w) && !mine[keyOf(w)] {
				mine[keyOf(w)] = true
				for _, j := range index[keyOf(w)] {
					near[j]++
				}
			}
		}
		for j, n := range near {
			if n < 2 {
				continue
			}
			compared++
			if v := compare(&texts[j], &texts[i], Statement{Text: said[j]}, Statement{Text: s}); v.Relation != Distinct {
				merged++
				t.Logf("%s: %q / %q (%s)", v.Relation, said[j], s, v.Why)
			}
		}
		for k := range mine {
			index[k] = append(index[k], i)
		}
	}
	t.Logf("%d sentences, %d pairs compared, %d not distinct", len(said), compared, merged)
	if compared < 1000 || merged*1000 > compared {
		t.Errorf("%d of %d pairs are not distinct", merged, compared)
	}
}
