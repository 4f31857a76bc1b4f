package coderecall

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

const shopSet = `repository: shop
source: go:example.com/shop@v1.0.0
questions:
  - ask: how is a voucher redeemed at the checkout?
    kind: how
    code: checkout.py
    marker: 'voucher\.used = True'
  - ask: what does Basket.add do?
    kind: what
    code: basket.py
    marker: 'def add\('
  - ask: where is the satellite telemetry decoded?
    kind: absent
`

// shopFiles has the answer far down in a long function, and tests that have all of its words.
func shopFiles() map[string]string {
	steps := strings.Repeat("    log('one more step of this')\n", 60)
	return map[string]string{
		"checkout.py":      "# Checkout takes what a customer owes.\ndef checkout(basket, code):\n" + steps + "    voucher = find(code)\n    voucher.used = True\n    return redeem(voucher)\n",
		"basket.py":        "class Basket:\n    def add(self, item):\n        self.items.append(item)\n\n    def total(self):\n        return sum(self.items)\n",
		"test_checkout.py": "def test_voucher_is_redeemed_at_checkout():\n    assert checkout(basket, 'voucher redeemed')\n",
	}
}

func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestRun(t *testing.T) {
	set, err := parse([]byte(shopSet))
	if err != nil {
		t.Fatal(err)
	}
	root := writeFiles(t, shopFiles())
	if err := set.Check(os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), &set, root, config.Default(), nil)
	if err != nil {
		t.Fatal(err)
	}
	f := Sum([]Report{r})
	if f.Questions != 1 || f.First3 != 1 || f.InBlock != 1 || f.Code != 1 || f.Names != 1 || f.Declared != 1 || f.Absent != 1 || f.Silent != 1 {
		t.Errorf("%+v\n%+v", f, r.Answers)
	}
	if f.Chars == 0 || f.Headers <= 0 || f.Headers >= 0.5 {
		t.Errorf("%d characters, %.2f of them headers", f.Chars, f.Headers)
	}
	var page bytes.Buffer
	if err := HTML(&page, []Report{r}); err != nil || !strings.Contains(page.String(), "voucher redeemed") && !strings.Contains(page.String(), "how is a voucher redeemed") {
		t.Errorf("%v\n%s", err, page.String())
	}
	if _, err := os.Stat(filepath.Join(root, ".ken")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("something was written to the repository")
	}
}

func TestBadSets(t *testing.T) {
	for text, field := range map[string]string{
		"repository: x": "repository",
		"repository: x\nquestions: [{ask: '', kind: how}]":                               "ask",
		"repository: x\nquestions: [{ask: y, kind: when}]":                               "kind",
		"repository: x\nquestions: [{ask: y, kind: how}]":                                "marker",
		"repository: x\nquestions: [{ask: y, kind: absent, code: a, marker: b}]":         "marker",
		"repository: x\nquestions: [{ask: y, kind: how, marker: b}]":                     "code",
		"repository: x\nquestions: [{ask: y, kind: how, code: a, marker: '('}]":          "marker",
		"repository: x\nquestions: [{ask: y, kind: how, code: a, marker: b, also: [c]}]": "also",
		"repository: x\nquestion: []":                                                    "",
	} {
		_, err := parse([]byte(text))
		if e, ok := errors.AsType[*ken.Error](err); !ok || e.Code != ken.CodeInvalid || e.Field != field {
			t.Errorf("%s: %v", text, err)
		}
	}
	set, err := parse([]byte(shopSet))
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Check(os.DirFS(writeFiles(t, map[string]string{"checkout.py": "pass\n"}))); err == nil || !strings.Contains(err.Error(), "question 1") || !strings.Contains(err.Error(), "question 2") {
		t.Errorf("markers that match nothing: %v", err)
	}
}

// The sets of this folder and those below it are well formed.
func TestSets(t *testing.T) {
	sets, questions := 0, 0
	for _, folder := range []string{"testdata", "testdata/development", "testdata/sealed", "testdata/training"} {
		list, err := Load(folder)
		if err != nil {
			t.Fatal(err)
		}
		sets += len(list)
		for i := range list {
			questions += len(list[i].Questions)
		}
	}
	if sets < 39 || questions < 800 {
		t.Errorf("%d sets, %d questions", sets, questions)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(shopSet))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parse(data); err == nil && (s.Repository == "" || len(s.Questions) == 0) {
			t.Errorf("%q: %+v", data, s)
		}
	})
}

// An archive writes nothing outside of its folder.
func TestUnpackStaysInItsFolder(t *testing.T) {
	archive := func(name string) *bytes.Buffer {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: 1, Mode: 0o644}), func() error { _, err := w.Write([]byte("x")); return err }(), w.Close(), z.Close()); err != nil {
			t.Fatal(err)
		}
		return &b
	}
	outer := t.TempDir()
	into := filepath.Join(outer, "in")
	if err := os.Mkdir(into, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unpack(archive("../out"), into); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(filepath.Join(outer, "out")); err == nil {
		t.Error("it was written")
	}
	if err := unpack(archive("package/a.js"), into); err != nil {
		t.Error(err)
	}
}

func TestFetchNeedsASource(t *testing.T) {
	for _, source := range []string{"", "gin", "svn:gin", "npm:--help"} {
		if err := Fetch(t.Context(), source, filepath.Join(t.TempDir(), "x")); !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("%q: %v", source, err)
		}
	}
}
