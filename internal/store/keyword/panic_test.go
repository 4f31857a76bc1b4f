package keyword

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/analysis"
)

// A text that can't be analyzed is found by no word, and costs no other document of its
// batch, be it analyzed on this goroutine or on others; it can be replaced later.
func TestApplySurvivesAText(t *testing.T) {
	tokens = func(buf []analysis.Token, s string) []analysis.Token {
		if strings.Contains(s, "exploder") {
			panic("what a text")
		}
		return analysis.Tokens(buf, s)
	}
	defer func() { tokens = analysis.Tokens }()
	for _, n := range []int{3, 400} {
		x := openTest(t, t.TempDir(), Options{})
		docs := make([]Doc, n)
		for i := range docs {
			docs[i] = Doc{Ref: uint32(i), Text: fmt.Sprint("zebra number", i)}
		}
		docs[1].Text = "zebra exploder"
		apply(t, x, docs, nil, 1)
		if res := search(t, x, Query{Text: "zebra", Limit: n}); len(res.Hits) != n-1 || slices.Contains(refs(res.Hits), 1) {
			t.Errorf("%d of %d are found", len(res.Hits), n)
		}
		apply(t, x, []Doc{{Ref: 1, Text: "zebra again"}}, nil, 2)
		if res := search(t, x, Query{Text: "again", Limit: 3}); !slices.Equal(refs(res.Hits), []uint32{1}) {
			t.Errorf("replaced: %v", refs(res.Hits))
		}
	}
}

// The engine maps its files. What writes to them while they become shorter gets an error,
// and the process goes on.
func TestFilesThatBecomeShorter(t *testing.T) {
	for name, write := range map[string]func(*Index) error{
		"a new document":           func(x *Index) error { return x.Apply([]Doc{{Ref: 5, Text: "zebra five"}}, nil, 9) },
		"a document again":         func(x *Index) error { return x.Apply([]Doc{{Ref: 1, Text: "zebra again"}}, nil, 9) },
		"a document that is gone":  func(x *Index) error { return x.Apply(nil, []uint32{2}, 9) },
		"more than is kept aside":  func(x *Index) error { return x.Apply(many(through), nil, 9) },
		"erasing what was removed": func(x *Index) error { return x.Scrub(context.Background()) },
		"merging": func(x *Index) error {
			engine, done, err := x.use()
			if err != nil {
				return err
			}
			defer done()
			return x.merge(context.Background(), engine)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			x := openTest(t, dir, Options{})
			apply(t, x, many(5), nil, 1)
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			x = openTest(t, dir, Options{})
			apply(t, x, []Doc{{Ref: 7, Text: "zebra seven"}}, nil, 2)
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			x = openTest(t, dir, Options{})
			segments, err := filepath.Glob(filepath.Join(dir, "*.zap"))
			if err != nil || len(segments) == 0 {
				t.Fatalf("segments %q, %v", segments, err)
			}
			for _, s := range segments {
				err = errors.Join(err, os.Truncate(s, 0))
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := write(x); err == nil && name != "a new document" { // which is kept aside
				t.Error("no error")
			}
			if err := x.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func many(n int) []Doc {
	docs := make([]Doc, n)
	for i := range docs {
		docs[i] = Doc{Ref: uint32(i), Text: fmt.Sprint("zebra number", i)}
	}
	return docs
}
