package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/cli"
)

// A sentence encoder is used by its folder's name alone, every record gets its vector in the
// background or at an index, and doctor says which model it is and what is wrong with one.
func TestSentenceEncoderInEmbedPath(t *testing.T) {
	model := filepath.Join(t.TempDir(), "tiny")
	if err := os.CopyFS(model, os.DirFS("../../embed/transformer/testdata/tiny-bert")); err != nil {
		t.Fatal(err)
	}
	dir := filled(t, "knowledge:\n  embed_path: "+model+"\n  embed_int8: true\n", 20)
	check := func(name, state, detail string) {
		t.Helper()
		_, out, stderr := kenIn(t, dir, "doctor", "--json")
		got := gjson.Get(out, `checks.#(check=="`+name+`")`)
		if got.Get("state").String() != state || !strings.Contains(got.Get("detail").String(), detail) {
			t.Errorf("%s%s", got.Raw, stderr)
		}
	}
	if status, _, err := kenIn(t, dir, "index", "-q"); status != cli.ExitOK {
		t.Fatal(err)
	}
	check("embedder", "ok", "the model in "+model+" (transformer:tiny:")
	check("vectors", "ok", "records have one from transformer:tiny:")
	if err := os.Truncate(filepath.Join(model, "model.safetensors"), 1000); err != nil {
		t.Fatal(err)
	}
	check("embedder", "fail", "model.safetensors: a header of")
}
