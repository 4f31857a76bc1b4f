package train

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	plain, packed := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl.gz")
	if err := os.WriteFile(plain, []byte("{\"q\":\"a\",\"p\":\"b\",\"src\":\"s\"}\n\n{\"q\":\" \",\"p\":\"b\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(packed)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if _, err := io.WriteString(z, `{"q":"c","p":"d","more":1}`); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := Read(t.Context(), []string{plain, packed}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Pair{{"a", "b", "s"}, {"c", "d", ""}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	bad, notPacked := filepath.Join(dir, "bad.jsonl"), filepath.Join(dir, "bad.gz")
	for name, text := range map[string]string{bad: "{\"q\":\"a\",\"p\":\"b\"}\n{", notPacked: "{}"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{bad: "line 2", notPacked: "bad.gz", filepath.Join(dir, "none"): "none"} {
		_, err := Read(t.Context(), []string{name}, nil)
		var kenErr *ken.Error
		if !errors.As(err, &kenErr) || kenErr.Try == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want a ken.Error with %q", filepath.Base(name), err, want)
		}
	}
}

func FuzzReadLines(f *testing.F) {
	f.Add("{\"q\":\"a\",\"p\":\"b\",\"src\":\"s\"}\n\n{}")
	f.Add("[1]\n")
	f.Fuzz(func(t *testing.T, text string) {
		err := readLines(t.Context(), strings.NewReader(text), "x", func(p Pair) {
			if strings.TrimSpace(p.Q) == "" || strings.TrimSpace(p.P) == "" {
				t.Errorf("half a pair: %q", p)
			}
		})
		if err != nil && !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("error %v, want invalid", err)
		}
	})
}
