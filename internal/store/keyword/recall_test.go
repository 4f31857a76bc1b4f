package keyword

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/race"
)

// judged is a set of questions with their right answers.
type judged struct {
	docs    []Doc
	conv    []string // of each document: a question searches only its own conversation
	queries []judgedQuery
}

type judgedQuery struct {
	text, conv string
	relevant   map[uint32]bool
}

// loadJudged reads a set of the evaluation data, which is no part of the
// repository.
func loadJudged(t *testing.T, set string) judged {
	t.Helper()
	dir := evaldata.Dir(t, set)
	var j judged
	judgements := filepath.Join(dir, "qrels", "test.tsv")
	refs := map[string]uint32{}
	eachLine(t, filepath.Join(dir, "corpus.jsonl"), func(line string) {
		id, title, text, conv := parseLine(t, line)
		refs[id] = uint32(len(j.docs))
		j.docs = append(j.docs, Doc{Ref: uint32(len(j.docs)), Heading: title, Text: text})
		j.conv = append(j.conv, conv)
	})
	right := map[string]map[uint32]bool{}
	eachLine(t, judgements, func(line string) {
		f := strings.Split(line, "\t")
		if ref, ok := refs[f[1]]; ok && f[2] != "0" {
			if right[f[0]] == nil {
				right[f[0]] = map[uint32]bool{}
			}
			right[f[0]][ref] = true
		}
	})
	eachLine(t, filepath.Join(dir, "queries.jsonl"), func(line string) {
		id, _, text, conv := parseLine(t, line)
		if right[id] != nil {
			j.queries = append(j.queries, judgedQuery{text, conv, right[id]})
		}
	})
	return j
}

func parseLine(t *testing.T, line string) (id, title, text, conv string) {
	var d struct {
		ID          string `json:"_id"`
		Title, Text string
		Metadata    struct{ Conv string }
	}
	if err := json.Unmarshal([]byte(line), &d); err != nil {
		t.Fatal(err)
	}
	return d.ID, d.Title, d.Text, d.Metadata.Conv
}

func eachLine(t *testing.T, path string, f func(string)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	scan := bufio.NewScanner(file)
	scan.Buffer(nil, 1<<24)
	for scan.Scan() {
		f(scan.Text())
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
}

// recallAt10 is the mean share of a question's right documents among its first
// ten hits.
func (j judged) recallAt10(t *testing.T, x *Index) (recall float64) {
	t.Helper()
	for _, q := range j.queries {
		res, err := x.Search(context.Background(), Query{Text: q.text, Limit: 10, Accept: func(ref uint32) bool {
			return j.conv[ref] == q.conv
		}})
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, h := range res.Hits {
			if q.relevant[h.Ref] {
				found++
			}
		}
		recall += float64(found) / float64(len(q.relevant))
	}
	return recall / float64(len(j.queries))
}

// Searching less for common words and for the tail of long questions is for
// speed, and must not cost answers: neither with the defaults, nor with as many
// postings per document as an index of 100,000 documents gets.
func TestBoundedWorkCostsNoRecall(t *testing.T) {
	race.LeaveToWhole(t)
	for _, set := range []string{"locomo-dev", "beam-dev", "cosqa-dev"} {
		t.Run(set, func(t *testing.T) {
			j := loadJudged(t, set)
			x := openTest(t, t.TempDir(), Options{})
			apply(t, x, j.docs, nil, 1)
			usual := j.recallAt10(t, x)
			x.opts.MaxPostings = len(j.docs) / 4
			tight := j.recallAt10(t, x)
			x.opts.MaxPostings, x.opts.MaxTerms = -1, 1000
			all := j.recallAt10(t, x)
			t.Logf("%d documents, %d questions: recall@10 %.4f with all words, %.4f with the defaults, %.4f with a quarter of a posting per document",
				len(j.docs), len(j.queries), all, usual, tight)
			if usual < all-0.002 || tight < all-0.015 { // one of 90 questions is 0.011
				t.Error("recall falls")
			}
		})
	}
}
