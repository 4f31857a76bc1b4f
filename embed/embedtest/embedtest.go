// Package embedtest is the suite that every embedder passes, with a simple embedder and
// a simple gateway for tests of packages that use an embedder.
package embedtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kenlayer/ken/embed"
)

var texts = []string{
	"The deploy pipeline runs on every push to main.",
	"Cats sleep for most of the day.",
	"func Open(path string) (*DB, error)",
	"Le café est fermé le dimanche.",
}

// near tolerates servers that compute a batch and a single text in a different order.
var near = cmpopts.EquateApprox(0, 1e-4)

// Run runs the suite; newEmbedder is called once for each case and cleans up
// through t. The model must know English words.
func Run(t *testing.T, newEmbedder func(t *testing.T) embed.Embedder) {
	cases := map[string]func(*testing.T, embed.Embedder){
		"unit vectors of one dimension": unitVectors,
		"order":                         order,
		"no texts":                      noTexts,
		"duplicates":                    duplicates,
		"nothing to embed":              nothingToEmbed,
		"a long text":                   longText,
		"any bytes":                     anyBytes,
		"deterministic":                 deterministic,
		"cancelled":                     cancelled,
		"concurrent":                    concurrent,
		"the model's name":              modelName,
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) { f(t, newEmbedder(t)) })
	}
}

func mustEmbed(t *testing.T, e embed.Embedder, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatalf("Embed: %v", err)
	}
	if err := embed.Check(vectors, len(texts), e.Dim()); err != nil {
		t.Fatal(err)
	}
	return vectors
}

func unitVectors(t *testing.T, e embed.Embedder) {
	for i, v := range mustEmbed(t, e, texts...) {
		if v == nil {
			t.Errorf("no vector for %q", texts[i])
		}
	}
	if e.Dim() == 0 {
		t.Error("Dim is 0 after a call")
	}
}

func order(t *testing.T, e embed.Embedder) {
	together := mustEmbed(t, e, texts...)
	for i, text := range texts {
		if diff := cmp.Diff(mustEmbed(t, e, text)[0], together[i], near); diff != "" {
			t.Errorf("%q alone and in a batch (-alone +batch):\n%s", text, diff)
		}
	}
	for i := 1; i < len(together); i++ {
		if cmp.Equal(together[0], together[i], near) {
			t.Errorf("%q and %q have the same vector", texts[0], texts[i])
		}
	}
}

func noTexts(t *testing.T, e embed.Embedder) {
	for _, none := range [][]string{nil, {}} {
		if vectors, err := e.Embed(t.Context(), none); len(vectors) != 0 || err != nil {
			t.Errorf("no texts: %v, %v; want neither vectors nor an error", vectors, err)
		}
	}
}

func duplicates(t *testing.T, e embed.Embedder) {
	v := mustEmbed(t, e, texts[0], texts[1], texts[0])
	if !cmp.Equal(v[0], v[2], near) || cmp.Equal(v[0], v[1], near) {
		t.Error("equal texts must have equal vectors, and others not")
	}
}

func nothingToEmbed(t *testing.T, e embed.Embedder) {
	v := mustEmbed(t, e, "", texts[0], " \n\t", texts[1])
	if v[0] != nil || v[2] != nil {
		t.Errorf("blank texts have vectors %v and %v, want nil", v[0], v[2])
	}
	if v[1] == nil || v[3] == nil {
		t.Error("blank texts took the vectors of their neighbours")
	}
	if v := mustEmbed(t, e, ""); v[0] != nil {
		t.Errorf("only a blank text: %v, want nil", v[0])
	}
}

func longText(t *testing.T, e embed.Embedder) {
	long := strings.Repeat("the cat sat on the maté ", 20_000)
	if v := mustEmbed(t, e, long, texts[0]); v[0] == nil || v[1] == nil {
		t.Error("a text of 500 kB must have a vector, of its beginning if need be")
	}
}

func anyBytes(t *testing.T, e embed.Embedder) {
	mustEmbed(t, e, "cat \xff\xfe\x00 cat \xed\xa0\x80", "cat\u200b\U0001F600 \u0000cat", `cat "quoted" <b>&amp;</b> \u0041`)
}

func deterministic(t *testing.T, e embed.Embedder) {
	given := slices.Clone(texts)
	first, second := mustEmbed(t, e, given...), mustEmbed(t, e, given...)
	if diff := cmp.Diff(first, second, near); diff != "" {
		t.Errorf("twice the same texts (-first +second):\n%s", diff)
	}
	if !slices.Equal(given, texts) {
		t.Error("Embed changed the caller's slice")
	}
}

func cancelled(t *testing.T, e embed.Embedder) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	vectors, err := e.Embed(ctx, texts)
	if !errors.Is(err, context.Canceled) || vectors != nil {
		t.Errorf("%d vectors, error %v; want context.Canceled and nothing else", len(vectors), err)
	}
}

func concurrent(t *testing.T, e embed.Embedder) {
	want := mustEmbed(t, e, texts...)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 10 {
				k := (i + j) % len(texts)
				got, err := e.Embed(t.Context(), texts[k:])
				if err != nil || !cmp.Equal(got, want[k:], near) {
					t.Errorf("a concurrent call answered something else; error %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func modelName(t *testing.T, e embed.Embedder) {
	before := e.Model()
	mustEmbed(t, e, texts...)
	if after := e.Model(); after != before || !strings.Contains(before, ":") {
		t.Errorf("Model = %q, then %q; want one name of the form provider:model", before, after)
	}
}
