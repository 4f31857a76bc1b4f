package repository

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/projectfile"
)

func paths(t *Tree) (out []string) {
	for _, f := range t.Files {
		if f.Skip != "" {
			out = append(out, f.Path+" ("+string(f.Skip)+")")
		} else {
			out = append(out, f.Path)
		}
	}
	return out
}

func files(t *testing.T, root string, o Options, only ...string) *Tree {
	t.Helper()
	tr, err := Files(context.Background(), root, o, only...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

var mixed = map[string]string{
	".gitignore": "*.tmp\n", "a.go": "package a\n", "a.tmp": "x", "b/c.go": "package c\n", "b/.gitignore": "gone.go\n", "b/gone.go": "x",
	"b/api.pb.go": "package c\n", "b/big.go": strings.Repeat("x", 300), "logo.png": "x", ".env": "A=b", "node_modules/x/i.js": "x", "b/d/e.py": "x = 1\n",
}

func TestFilesAreThoseOfIndexAndWhatItSkipsByNameAndSize(t *testing.T) {
	dir := tree(t, mixed)
	for link, to := range map[string]string{"loop": ".", "b/up": "..", "out": os.TempDir(), "b/link.go": "c.go"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	tr := files(t, dir, Options{MaxFileBytes: 200})
	equal(t, "files", paths(tr), []string{".gitignore", "a.go", "b/.gitignore", "b/api.pb.go (generated)", "b/big.go (too large)", "b/c.go", "b/d/e.py"})
	sink := newMemory(t)
	r := index(t, dir, sink, Options{MaxFileBytes: 200})
	equal(t, "skipped", tr.Skipped, r.Skipped)
	equal(t, "withheld", tr.Withheld, []Withheld{{Path: ".env", What: "file name"}})
	for _, p := range sink.paths() {
		if !slices.Contains(paths(tr), p) {
			t.Errorf("Index has %s and Files has not", p)
		}
	}
}

func TestFilesOfSomePaths(t *testing.T) {
	dir := tree(t, mixed)
	for _, c := range []struct {
		asked, want []string
	}{
		{[]string{"a.go"}, []string{"a.go"}},
		{[]string{"b/d"}, []string{"b/d/e.py"}},
		{[]string{"b/gone.go", "a.tmp", ".env", "none.go", "../a.go", "/etc/passwd", "node_modules/x/i.js", "logo.png"}, nil},
		{[]string{"b/", "b/c.go"}, []string{"b/.gitignore", "b/api.pb.go (generated)", "b/big.go", "b/c.go", "b/d/e.py"}},
		{[]string{"."}, []string{".gitignore", "a.go", "b/.gitignore", "b/api.pb.go (generated)", "b/big.go", "b/c.go", "b/d/e.py"}},
	} {
		equal(t, strings.Join(c.asked, " "), paths(files(t, dir, Options{}, c.asked...)), c.want)
	}
}

func TestReadKeepsTheHeadAndHashesAll(t *testing.T) {
	dir := tree(t, mixed)
	tr := files(t, dir, Options{})
	whole, err := tr.Read("b/big.go", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	head, err := tr.Read("b/big.go", 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(head.Bytes) != 10 || head.Size != 300 || len(whole.Bytes) != 300 || head.Hash != whole.Hash || whole.Hash != projectfile.Hash(whole.Bytes) {
		t.Errorf("head %d of %d bytes, whole %d; %s, %s", len(head.Bytes), head.Size, len(whole.Bytes), head.Hash, whole.Hash)
	}
	for _, p := range []string{"../x", "b", "none.go"} {
		if _, err := tr.Read(p, 10); err == nil {
			t.Errorf("%s was read", p)
		}
	}
}

func TestFilesEndsWithItsContextAndNeedsAFolder(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Files(ctx, tree(t, mixed), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Files(context.Background(), filepath.Join(t.TempDir(), "none"), Options{}); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("no folder: %v", err)
	}
}

// Built here, so that this file holds nothing that looks like a secret.
var (
	fakeToken = "ghp_" + "x7Kq2mZ9" + "Lw4Rt8Vb" + "N3cY6pHd" + "1fGs5jAe" + "0uTi"
	fakeKey   = "-----BEGIN " + "PRIVATE KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n", 20) + "-----END " + "PRIVATE KEY-----\n"
)

// Secrets must not be stored word for word in the index.
func TestSecretsAreNotStoredVerbatim(t *testing.T) {
	dir := tree(t, map[string]string{
		".env": "KEY=" + fakeToken, "deploy/id_rsa": "x", "tls/server.pem": "x", ".env.example": "KEY=\n",
		".npmrc":         "//registry.example.com/:_authToken=abcdef\n",
		"pkg/.npmrc":     "save-exact=true\n",
		"credentials.go": "package x\n\n// Credentials holds what a user signs in with.\ntype Credentials struct{}\n",
		"setup.md":       "# Setup\n\nFirst install it, as is written in the guide for beginners.\n\n# Token " + fakeToken + "\n\n## Use\n\nUse it for everything, as everybody does in this company.\n\n# After\n\nThen start it, and wait until it answers on its port.\n",
		"notes.txt":      "Before the key.\n\n" + fakeKey + "\nAfter the key, there is more to say about other things.\n",
	})
	sink := newMemory(t)
	first := index(t, dir, sink, Options{MaxChunk: 300})
	all, err := json.Marshal(sink.known)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range sink.paths() {
		for _, c := range sink.chunks[p] {
			b, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
	}
	for _, s := range []string{fakeToken, "MIIEvQIB", "_authToken"} {
		if strings.Contains(string(all), s) {
			t.Errorf("%q is in the index", s)
		}
	}
	equal(t, "setup.md", sink.headings("setup.md"), []string{"setup.md › Setup", "setup.md › After"})
	equal(t, "indexed", sink.paths(), []string{".env.example", "credentials.go", "notes.txt", "pkg/.npmrc", "setup.md"})
	var files []string
	for _, w := range first.Withheld {
		if w.What == "" {
			t.Errorf("%+v does not say what", w)
		}
		if w.Line == 0 {
			files = append(files, w.Path)
		}
	}
	equal(t, "files withheld", files, []string{".env", ".npmrc", "deploy/id_rsa", "tls/server.pem"})
	if second := index(t, dir, sink, Options{MaxChunk: 300}); second.Changed != 0 {
		t.Errorf("%+v", second)
	} else {
		equal(t, "withheld in the second run", second.Withheld, first.Withheld)
	}
}

func TestSecretFileNames(t *testing.T) {
	for name, want := range map[string]bool{
		".env": true, "a/.env.local": true, ".env.example": false, "prod.env": true, "a.pem": true, "A.KEY": true, "id_rsa": true,
		"id_rsa.pub": false, "credentials": true, "credentials.py": false, "x.p12": true, ".netrc": true, ".npmrc": false,
		".aws/config": true, "aws/config": false, "environment.md": false, "keys.go": false, "prod.tfvars": true, "secrets.yaml": true,
	} {
		if got := secretFile(name); got != want {
			t.Errorf("secretFile(%q) = %v", name, got)
		}
	}
}
