package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/config"
)

var update = flag.Bool("update", false, "rewrite config.example.yaml and docs/config.md")

// golden compares a checked-in file with what the code makes.
func golden(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run go test ./config -update", err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("%s is out of date; run go test ./config -update:\n%s", path, d)
	}
}

func TestExampleFile(t *testing.T) {
	path := filepath.Join("..", "config.example.yaml")
	golden(t, path, config.Default().YAML())

	got, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(config.Default(), got); d != "" {
		t.Errorf("the example is not the defaults:\n%s", d)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range strings.Split(string(text), "\n") {
		if len([]rune(l)) > 90 {
			t.Errorf("line %d is too long to read: %s", i+1, l)
		}
	}
}

// Each line of the example is changed in turn, and the change must affect the key that
// the line shows.
func TestExampleNamesEveryKey(t *testing.T) {
	lines := strings.Split(config.Default().YAML(), "\n")
	for _, key := range config.Keys() {
		n := -1
		var stack []string
		for i, l := range lines {
			name, _, ok := strings.Cut(l, ":")
			trimmed := strings.TrimLeft(name, " ")
			if !ok || strings.HasPrefix(trimmed, "#") {
				continue
			}
			stack = append(stack[:(len(name)-len(trimmed))/2], trimmed)
			if strings.Join(stack, ".") == key {
				n = i
			}
		}
		if n < 0 {
			t.Errorf("%s is not in the example", key)
			continue
		}
		broken := strings.Replace(lines[n], ":", "x:", 1)
		edited := strings.Join(append(append(append([]string{}, lines[:n]...), broken), lines[n+1:]...), "\n")
		if _, err := config.Parse([]byte(edited)); err == nil || !strings.Contains(err.Error(), key+"x") {
			t.Errorf("%s renamed in the example: %v", key, err)
		}
	}
}

func TestReferenceFile(t *testing.T) {
	golden(t, filepath.Join("..", "docs", "config.md"), config.Reference())
	for _, key := range config.Keys() {
		if !strings.Contains(config.Reference(), "| `"+key+"` |") {
			t.Errorf("%s is not in the reference", key)
		}
	}
}

// A field without a key could never be configured.
func TestEveryFieldHasAKey(t *testing.T) {
	var count func(reflect.Type) int
	count = func(typ reflect.Type) (n int) {
		for field := range typ.Fields() {
			if f := field.Type; f.Kind() == reflect.Struct {
				n += count(f)
			} else {
				n++
			}
		}
		return n
	}
	if fields := count(reflect.TypeFor[config.Config]()); fields != len(config.Keys()) {
		t.Errorf("%d fields, %d keys", fields, len(config.Keys()))
	}
}
