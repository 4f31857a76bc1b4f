package keyword

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	zap "github.com/blevesearch/zapx/v17"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/race"
)

// onDisk reports whether the dictionary of any segment file holds the term,
// deleted or not.
func onDisk(t *testing.T, dir, term string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.zap"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		s, err := new(zap.ZapPlugin).Open(f)
		if err != nil {
			continue // being written, or merged away just now
		}
		d, err := s.Dictionary(wordsField)
		if err != nil {
			t.Fatal(err)
		}
		found, err := d.Contains([]byte(term))
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		if found {
			return true
		}
	}
	return false
}

var term = analysis.Terms("xylophone")[0]

// Systems that only hide what was deleted leave it in their files.
func TestScrubRemovesDeletedWordsFromTheFiles(t *testing.T) {
	for name, build := range map[string]func(*Index){
		"one segment": func(x *Index) {
			apply(t, x, []Doc{{Ref: 1, Text: "xylophone"}, {Ref: 2, Text: "zebra"}}, nil, 1)
		},
		"many segments": func(x *Index) {
			apply(t, x, []Doc{{Ref: 1, Text: "xylophone"}, {Ref: 2, Text: "zebra"}}, nil, 1)
			for i := range uint32(30) {
				apply(t, x, []Doc{{Ref: 10 + i, Text: "tiger"}}, nil, 2)
			}
		},
		"large": func(x *Index) {
			apply(t, x, append(newCorpus(1).docs(10, race.Pick(3000, 1100)), Doc{Ref: 1, Text: "xylophone"}, Doc{Ref: 2, Text: "zebra"}), nil, 1)
		},
		"nothing else": func(x *Index) { apply(t, x, []Doc{{Ref: 1, Text: "xylophone"}}, nil, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			x := openTest(t, dir, Options{})
			build(x)
			land(t, x)
			if err := x.flush(context.Background(), x.engine); err != nil {
				t.Fatal(err)
			}
			if !onDisk(t, dir, term) {
				t.Fatal("the word is not in the files to begin with; this test would prove nothing")
			}
			apply(t, x, nil, []uint32{1}, 9)
			if err := x.Scrub(context.Background()); err != nil {
				t.Fatal(err)
			}
			if onDisk(t, dir, term) {
				t.Error("the deleted word is still in a file")
			}
			if name != "nothing else" && len(search(t, x, Query{Text: "zebra"}).Hits) != 1 {
				t.Error("another document went too")
			}
			if x.Watermark() != 9 {
				t.Errorf("watermark %d", x.Watermark())
			}
		})
	}
}

func TestScrubBesideSearchesAndWrites(t *testing.T) {
	dir := t.TempDir()
	x := openTest(t, dir, Options{})
	apply(t, x, append(newCorpus(1).docs(10, race.Pick(500, 150)), Doc{Ref: 1, Text: "xylophone"}), nil, 1)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		c := newCorpus(2)
		for i := uint64(2); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := x.Apply(c.docs(int(i%50), 5), []uint32{uint32(i % 300)}, i); err != nil {
				t.Error(err)
			}
			if _, err := x.Search(context.Background(), Query{Text: c.text(3)}); err != nil {
				t.Error(err)
			}
		}
	})
	for range 3 {
		apply(t, x, []Doc{{Ref: 9999, Text: "xylophone"}}, nil, 5)
		apply(t, x, nil, []uint32{1, 9999}, 9)
		if err := x.Scrub(context.Background()); err != nil {
			t.Fatal(err)
		}
		if onDisk(t, dir, term) {
			t.Error("the deleted word is still in a file")
		}
	}
}

func TestScrubHonoursItsContext(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{})
	apply(t, x, newCorpus(1).docs(0, 500), nil, 1)
	apply(t, x, nil, []uint32{3}, 2)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := x.Scrub(ctx); !errors.Is(err, ken.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
