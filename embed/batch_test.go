package embed_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/kenlayer/ken/embed"
)

func TestBatchKeepsTheOrder(t *testing.T) {
	for _, n := range []int{0, 1, 15, 500} {
		texts := make([]string, n)
		for i := range texts {
			texts[i] = strconv.Itoa(i)
		}
		got, err := embed.Batch(t.Context(), texts, func(text string) []float32 {
			f, _ := strconv.ParseFloat(text, 32)
			return []float32{float32(f)}
		})
		if err != nil || len(got) != n {
			t.Fatalf("%d texts: %d vectors, %v", n, len(got), err)
		}
		for i, v := range got {
			if v[0] != float32(i) {
				t.Fatalf("%d of %d: %v", i, n, v)
			}
		}
	}
}

func TestBatchStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := 0
	got, err := embed.Batch(ctx, make([]string, 10), func(string) []float32 {
		if done++; done == 3 {
			cancel()
		}
		return nil
	})
	if got != nil || !errors.Is(err, context.Canceled) || done != 3 {
		t.Errorf("%d embedded, %v, %v", done, got, err)
	}
}

// A text that the embedder panics on costs its own vector and nothing else.
func TestBatchSurvivesAText(t *testing.T) {
	for _, n := range []int{3, 100} { // on one goroutine, and on several
		texts := make([]string, n)
		for i := range texts {
			texts[i] = strconv.Itoa(i)
		}
		got, err := embed.Batch(t.Context(), texts, func(text string) []float32 {
			if text == "1" {
				panic("what a text")
			}
			return []float32{1}
		})
		if err != nil || len(got) != n {
			t.Fatal(len(got), err)
		}
		for i, v := range got {
			if (v == nil) != (i == 1) {
				t.Errorf("%d of %d: %v", i, n, v)
			}
		}
	}
}
