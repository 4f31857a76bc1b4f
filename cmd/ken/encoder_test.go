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
	check("vectors", "ok", "records, each with one from transformer:tiny:")
	if err := os.Truncate(filepath.Join(model, "model.safetensors"), 1000); err != nil {
		t.Fatal(err)
	}
	check("embedder", "fail", "model.safetensors: a header of")
}

// A table starts from an encoder's vectors if --teacher names one, and from other rows without.
func TestATableStartsFromAnEncoder(t *testing.T) {
	dir := t.TempDir()
	var pairs strings.Builder
	for i := range 24 {
		pairs.WriteString(`{"q":"start server ` + strings.Repeat("x", i) + `","p":"run the service","src":"a"}` + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "pairs.jsonl"), []byte(pairs.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	encoder, err := filepath.Abs("../../embed/transformer/testdata/tiny-bert")
	if err != nil {
		t.Fatal(err)
	}
	train := func(out string, more ...string) (status int, stdout, stderr string) {
		t.Chdir(dir)
		return kenIn(t, dir, append([]string{"embed", "train", "-q", "--json", "--hold-out", "0", "--dim", "16", "--tokens", "200", "--epochs", "1", "--out", out, "pairs.jsonl"}, more...)...)
	}
	_, plain, _ := train("plain.ken")
	status, taught, stderr := train("taught.ken", "--teacher", encoder)
	if status != cli.ExitOK || !strings.Contains(gjson.Get(taught, "info.recipe").String(), ", teacher transformer:tiny-bert:") ||
		gjson.Get(taught, "model").String() == gjson.Get(plain, "model").String() {
		t.Errorf("%s%s", taught, stderr)
	}
	for teacher, says := range map[string]string{dir: "config.json", "all-MiniLM-L6-v2": "Run ken embed install all-MiniLM-L6-v2."} {
		if status, _, stderr := train("none.ken", "--teacher", teacher); status == cli.ExitOK || !strings.Contains(stderr, says) || gjson.Get(stderr, "field").String() != "teacher" {
			t.Errorf("--teacher %s: %d, %s", teacher, status, stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "none.ken")); err == nil {
		t.Error("a table was written without its teacher")
	}
}
