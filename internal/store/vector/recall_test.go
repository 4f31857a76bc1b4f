package vector

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken/embed/static"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/race"
)

// embeddings are the vectors of a set's texts and of its queries.
func embeddings(t *testing.T, model *static.Model, set string) (texts, queries [][]float32) {
	t.Helper()
	embed := func(file string) (out [][]float32) {
		f, err := os.Open(filepath.Join(evaldata.Dir(t, set), file))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var lines []string
		scan := bufio.NewScanner(f)
		scan.Buffer(nil, 1<<24)
		for scan.Scan() {
			var d struct{ Text string }
			if err := json.Unmarshal(scan.Bytes(), &d); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, d.Text)
		}
		vecs, err := model.Embed(context.Background(), lines)
		if err := errors.Join(err, scan.Err()); err != nil {
			t.Fatal(err)
		}
		for _, v := range vecs {
			if v != nil {
				out = append(out, v)
			}
		}
		return out
	}
	return embed("corpus.jsonl"), embed("queries.jsonl")
}

// recall is the share of the exact k nearest that the bits find too. A row that
// scores as much as the last of them counts as found.
func recall(t *testing.T, x *Index, queries [][]float32, k int, accept func(uint32) bool) float64 {
	t.Helper()
	found, all := 0, 0
	search := func(scanRows int, q []float32) []Hit {
		x.opts.ScanRows = scanRows
		hits, err := x.Search(context.Background(), q, k, accept)
		if err != nil {
			t.Fatal(err)
		}
		return hits
	}
	for _, q := range queries {
		want := search(-1, q)
		last := want[len(want)-1].Centred
		all += len(want)
		for _, h := range search(1, q) {
			if h.Centred >= last {
				found++
			}
		}
	}
	return float64(found) / float64(all)
}

// The default oversampling must not cost results on real texts: a model of 64
// dimensions is the hard case, since it has the fewest bits.
func TestBitsFindWhatTheExactScanFinds(t *testing.T) {
	race.LeaveToWhole(t)
	model, err := static.Open(evaldata.Dir(t, "model2vec-tiny"))
	if err != nil {
		t.Fatal(err)
	}
	const k = 50
	all := New(model.Dim(), Options{})
	ref := uint32(0)
	var queries [][]float32
	for _, name := range []string{"cosqa-dev", "beam-dev", "locomo-dev"} {
		texts, qs := embeddings(t, model, name)
		for _, v := range texts {
			set(t, all, ref, v)
			ref++
		}
		queries = append(queries, qs...)
	}
	t.Logf("%d texts, %d queries", all.Len(), len(queries))
	for _, oversample := range []int{5, 10, 20, 40, 80} { // only to be read
		all.opts.Oversample = oversample
		t.Logf("oversample %3d: recall@%d %.4f", oversample, k, recall(t, all, queries, k, nil))
	}
	all.opts.Oversample = 0
	got := recall(t, all, queries, k, nil)
	t.Logf("default: recall@%d %.4f", k, got)
	if got < 0.99 {
		t.Errorf("recall@%d is %.4f with the default oversampling, want at least 0.99", k, got)
	}
	if got := recall(t, all, queries, k, func(ref uint32) bool { return ref%20 == 0 }); got < 0.99 {
		t.Errorf("recall@%d is %.4f beside a filter that lets 5%% through, want at least 0.99", k, got)
	}
}
