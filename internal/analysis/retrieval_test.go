package analysis

import (
	"bufio"
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/race"
)

// TestRecall guards the choices of this package (stop words, stemming, parts of
// identifiers) with a plain BM25 over real questions. The floors are a little
// under what was measured when they were made.
func TestRecall(t *testing.T) {
	race.SkipLong(t)
	for name, floor := range map[string]float64{"cosqa-dev": 0.55, "locomo-dev": 0.63} {
		t.Run(name, func(t *testing.T) {
			got := recallAt10(t, evaldata.Dir(t, name))
			t.Logf("recall@10 %.3f", got)
			if got < floor {
				t.Errorf("recall@10 %.3f, want at least %.2f", got, floor)
			}
		})
	}
}

type record struct {
	ID       string `json:"_id"`
	Text     string `json:"text"`
	Metadata struct {
		Conv string `json:"conv"` // a question is about its own conversation
	} `json:"metadata"`
}

func recallAt10(t *testing.T, dir string) float64 {
	type posting struct {
		doc int
		tf  float64
	}
	docs := records(t, filepath.Join(dir, "corpus.jsonl"))
	index := map[string][]posting{} // by conversation and term
	length, count, total := make([]float64, len(docs)), map[string]float64{}, map[string]float64{}
	for i, d := range docs {
		tf := map[string]float64{}
		for _, tok := range Tokens(nil, d.Text) {
			tf[tok.Term]++
			length[i]++
		}
		for term, n := range tf {
			key := d.Metadata.Conv + "\x00" + term
			index[key] = append(index[key], posting{i, n})
		}
		count[d.Metadata.Conv]++
		total[d.Metadata.Conv] += length[i]
	}
	relevant := judgements(t, filepath.Join(dir, "qrels", "test.tsv"))
	var sum, n float64
	for _, q := range records(t, filepath.Join(dir, "queries.jsonl")) {
		gold := relevant[q.ID]
		if len(gold) == 0 {
			continue
		}
		conv := q.Metadata.Conv
		score := map[int]float64{}
		for _, term := range Terms(q.Text) {
			list := index[conv+"\x00"+term]
			df := float64(len(list))
			idf := math.Log(1 + (count[conv]-df+0.5)/(df+0.5))
			for _, p := range list {
				score[p.doc] += idf * p.tf * 2.2 / (p.tf + 1.2*(0.25+0.75*length[p.doc]*count[conv]/total[conv]))
			}
		}
		best := slices.SortedFunc(maps.Keys(score), func(a, b int) int {
			return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a, b))
		})
		var hits float64
		for _, i := range best[:min(10, len(best))] {
			if gold[docs[i].ID] {
				hits++
			}
		}
		sum += hits / float64(len(gold))
		n++
	}
	return sum / n
}

func records(t *testing.T, path string) (out []record) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func judgements(t *testing.T, path string) map[string]map[string]bool {
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) == 3 && f[2] == "1" {
			if out[f[0]] == nil {
				out[f[0]] = map[string]bool{}
			}
			out[f[0]][f[1]] = true
		}
	}
	return out
}
