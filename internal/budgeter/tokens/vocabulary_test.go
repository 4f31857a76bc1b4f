package tokens

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"flag"
	"maps"
	"os"
	"slices"
	"testing"

	loader "github.com/pkoukk/tiktoken-go-loader"
)

var update = flag.Bool("update", false, "write the vocabularies again")

// TestVocabularies compares our packed vocabularies with the published ones, token by token.
func TestVocabularies(t *testing.T) {
	for _, name := range []string{"o200k_base", "cl100k_base", "p50k_base", "r50k_base"} {
		address := "https://openaipublic.blob.core.windows.net/encodings/" + name + ".tiktoken"
		want, err := loader.NewOfflineLoader().LoadTiktokenBpe(address)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(name+".flate", pack(t, want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := ranks{}.LoadTiktokenBpe(address)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %d tokens differ from the published %d", name, len(got), len(want))
		}
	}
	if _, err := (ranks{}).LoadTiktokenBpe("https://example.com/other.tiktoken"); err == nil {
		t.Error("a vocabulary that is not there was read")
	}
}

// pack writes what unpack reads.
func pack(t *testing.T, ranks map[string]int) []byte {
	t.Helper()
	tokens := slices.SortedFunc(maps.Keys(ranks), func(a, b string) int { return cmp.Compare(ranks[a], ranks[b]) })
	var steps, lengths, row []byte
	last := -1
	for _, token := range tokens {
		if len(token) > 255 {
			t.Fatalf("a token of %d bytes", len(token))
		}
		steps = binary.AppendUvarint(steps, uint64(ranks[token]-last))
		lengths = append(lengths, byte(len(token)))
		row = append(row, token...)
		last = ranks[token]
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(slices.Concat(binary.AppendUvarint(nil, uint64(len(tokens))), steps, lengths, row)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A damaged vocabulary is an error, whatever is in it.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("no flate"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := unpack(bytes.NewReader(data))
		if err == nil && len(all) > 1<<20 {
			t.Errorf("%d tokens", len(all))
		}
	})
}

func BenchmarkVocabulary(b *testing.B) {
	for _, c := range []struct {
		name string
		load func(string) (map[string]int, error)
	}{{"packed", ranks{}.LoadTiktokenBpe}, {"published", loader.NewOfflineLoader().LoadTiktokenBpe}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.load("https://example.com/o200k_base.tiktoken"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
