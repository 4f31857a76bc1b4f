package trained

import (
	"strings"
	"testing"
)

// The models judge plain cases correctly.
func TestPlainCases(t *testing.T) {
	for text, worth := range map[string]bool{
		"The staging database listens on 5433.":          true,
		"Dana signs off the releases.":                   true,
		"ok that worked, thanks":                         false,
		"can you run the tests again?":                   false,
		"Wir deployen immer dienstags nach dem Standup.": true,
		"hm, still red, let me have a look":              false,
	} {
		if got := Worth(text); got > 0.5 != worth {
			t.Errorf("%.2f for %q", got, text)
		}
	}
	for _, p := range []struct {
		before, after string
		replaces      bool
	}{
		{"We keep the invoices in MinIO.", "Invoices are in S3 these days.", true},
		{"The deploy day is Tuesday.", "The deploy day is Thursday now.", true},
		{"Paint tins are stored in aisle 12", "All paint went to bay 31", true}, // docs/sessions.md
		{"The EU cluster has 12 nodes.", "The US cluster has 20 nodes now.", false},
		{"The deploy day is Tuesday.", "Dana signs off the releases.", false},
		{"Redis on the cache hosts is 7.2.", "Redis on the queue hosts is 7.4 now.", false},
	} {
		if got := Replaces(p.before, p.after); got > 0.4 != p.replaces {
			t.Errorf("%.2f for %q after %q", got, p.after, p.before)
		}
	}
}

// Every text gets a score in bounded time.
func FuzzScores(f *testing.F) {
	f.Add("The port is 8080.", "It's 9090 now, 于是 50 %")
	f.Add("", "\xff’’'s")
	f.Add(strings.Repeat("a-", 5000), strings.Repeat("é ", 5000))
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, x := range []float64{Worth(a), Replaces(a, b)} {
			if !(x >= 0 && x <= 1) {
				t.Errorf("%v for %q and %q", x, a, b)
			}
		}
		if from, to, likely := Subject(a); from < 0 || to > len(a) || from > to || !(likely >= 0 && likely <= 1) {
			t.Errorf("%d to %d, %v for %q", from, to, likely, a)
		}
	})
}

// An invalid or truncated file is refused; a model is read as it was written.
func FuzzDecode(f *testing.F) {
	f.Add((&model{bias: 0.5, weights: []float32{1, -0.5, 0}}).encode())
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decode(data)
		if err != nil {
			return
		}
		again, err := decode(m.encode())
		if err != nil || len(again.weights) != len(m.weights) {
			t.Errorf("%v", err)
		}
	})
}

func BenchmarkWorth(b *testing.B) {
	for b.Loop() {
		Worth("btw invoices sit in S3 these days, bucket inv-prod, because MinIO lost its disk")
	}
}

func BenchmarkReplaces(b *testing.B) {
	for b.Loop() {
		Replaces("We keep the rendered invoices in MinIO, bucket inv-prod.", "btw invoices sit in S3 these days")
	}
}
