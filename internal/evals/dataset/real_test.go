package dataset

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/evaldata"
)

// The public sets, by their counts.
func TestRealSets(t *testing.T) {
	for _, tt := range []struct {
		name                        string
		format                      Format
		records, convs              int
		queries, noAnswer, unjudged int
		relevant                    int
		dated                       bool // every conversation has dates
	}{
		{"locomo-dev", FormatBEIR, 1729, 3, 698, 2, 0, 968, true},
		{"locomo-dev/raw", FormatLoCoMo, 1729, 3, 698, 2, 0, 968, true},
		{"beam-dev", FormatBEIR, 1032, 5, 100, 10, 0, 298, true},
		{"cosqa-dev", FormatBEIR, 6267, 1, 500, 0, 0, 500, false},
		{"longmemeval", FormatLongMemEval, 306, 16, 16, 0, 16, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open1(t, evaldata.Dir(t, tt.name), Options{})
			convs, dated := map[string]int{}, map[string]bool{}
			n := 0
			for _, r := range records(t, s) {
				n++
				convs[r.Conv]++
				dated[r.Conv] = dated[r.Conv] || !r.At.IsZero()
				if r.ID == "" || r.Text == "" || r.Place == "" {
					t.Fatalf("record %+v", r)
				}
			}
			noAnswer, unjudged, relevant := 0, 0, 0
			for _, q := range s.Queries {
				if q.NoAnswer() {
					noAnswer++
				}
				if !q.Judged {
					unjudged++
				}
				relevant += len(q.Relevant)
				if s.Scoped != (convs[q.Conv] > 0 && q.Conv != "") {
					t.Fatalf("question %+v", q)
				}
			}
			got := []int{n, len(convs), len(s.Queries), noAnswer, unjudged, relevant}
			if diff := cmp.Diff([]int{tt.records, tt.convs, tt.queries, tt.noAnswer, tt.unjudged, tt.relevant}, got); s.Format != tt.format || diff != "" {
				t.Errorf("%s: records, conversations, questions, without answer, unjudged, relevant:\n%s", s.Format, diff)
			}
			for conv, has := range dated {
				if has != tt.dated {
					t.Errorf("conversation %q has dates: %v", conv, has)
				}
			}
		})
	}
}

// LoCoMo's own file and its BEIR form are the same data.
func TestLoCoMoTwice(t *testing.T) {
	a, b := open1(t, evaldata.Dir(t, "locomo-dev"), Options{}), open1(t, evaldata.Dir(t, "locomo-dev/raw"), Options{})
	x, y := records(t, a), records(t, b)
	for i := range x {
		x[i].Place, y[i].Place, x[i].Speaker, y[i].Speaker = "", "", "", ""
		x[i].Text, y[i].Text = strings.Join(strings.Fields(x[i].Text), " "), strings.Join(strings.Fields(y[i].Text), " ")
		if diff := cmp.Diff(x[i], y[i]); diff != "" {
			t.Fatal(diff)
		}
	}
	for i := range a.Queries {
		p, q := &a.Queries[i], &b.Queries[i]
		if p.Text != q.Text || p.Category != q.Category || p.Conv != q.Conv || len(p.Relevant) != len(q.Relevant) {
			t.Fatalf("%+v\n%+v", p, q)
		}
	}
}

func TestFindSets(t *testing.T) {
	root := filepath.Dir(evaldata.Dir(t, "locomo-dev"))
	got, err := Find(root)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range got {
		names = append(names, filepath.Base(p))
	}
	if diff := cmp.Diff([]string{"beam-dev", "cosqa-dev", "locomo-dev", "longmemeval"}, names); diff != "" {
		t.Error(diff)
	}
	if _, err := Find(t.TempDir()); err == nil {
		t.Error("an empty folder has sets")
	}
}
