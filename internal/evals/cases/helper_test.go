package cases_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/evals/cases"
)

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

var update = flag.Bool("update", false, "rewrite the golden files")

// parse reads a file's text.
func parse(t testing.TB, text string) cases.File {
	t.Helper()
	f, err := cases.Parse("cases.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\nTry: %s", err, ken.Hint(err))
	}
	return f
}

// run runs a file's text and returns the results; with keyword search only, unless o
// sets an embedder.
func run(t testing.TB, text string, o cases.Options) []cases.Result {
	t.Helper()
	if o.Config == nil && o.Embedder == nil {
		o.Config = words()
	}
	var out []cases.Result
	if err := cases.Run(context.Background(), parse(t, text).Cases, o, func(r cases.Result) { out = append(out, r) }); err != nil {
		t.Fatalf("%v\nTry: %s", err, ken.Hint(err))
	}
	return out
}

// words is a configuration without search by meaning.
func words() *config.Config {
	c := config.Default()
	c.Knowledge.Embeddings, c.Knowledge.Nearest = false, 0
	return &c
}

// still returns a fixed time.
func still() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run go test -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s, -want +got:\n%s", path, diff)
	}
}

// wantError checks an error's parts.
func wantError(t *testing.T, err error, code ken.Code, parts ...string) {
	t.Helper()
	var e *ken.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("error %v, want one of code %s", err, code)
	}
	whole := err.Error() + "\nTry: " + ken.Hint(err)
	for _, p := range parts {
		if !strings.Contains(whole, p) {
			t.Errorf("error lacks %q:\n%s", p, whole)
		}
	}
}
