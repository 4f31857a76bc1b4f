package repository

import (
	"encoding/json"
	"strings"
	"testing"
)

// Built here, so that this file holds nothing that looks like a secret.
var (
	fakeToken = "ghp_" + "x7Kq2mZ9" + "Lw4Rt8Vb" + "N3cY6pHd" + "1fGs5jAe" + "0uTi"
	fakeKey   = "-----BEGIN " + "PRIVATE KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n", 20) + "-----END " + "PRIVATE KEY-----\n"
)

// Protects against the complaint that indexes keep secrets word for word.
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
