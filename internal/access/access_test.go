package access_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
)

func TestNobodyMayDoAnything(t *testing.T) {
	for _, p := range []access.Principal{access.From(context.Background()), {}} {
		for _, r := range access.Rights() {
			if p.Can(r) || !errors.Is(p.Need(r), ken.ErrRefused) {
				t.Errorf("%+v may %s", p, r)
			}
		}
	}
}

// A right is only what it says: to write does not mean to read.
func TestRightsAreSeparate(t *testing.T) {
	for _, have := range access.Rights() {
		p := access.Principal{Name: "k", Owner: "o", Rights: []access.Right{have}}
		ctx := access.With(context.Background(), p)
		for _, r := range access.Rights() {
			err := access.From(ctx).Need(r)
			if (err == nil) != (r == have) {
				t.Errorf("with %s, %s: %v", have, r, err)
			}
			if err != nil && (!strings.Contains(err.Error(), string(r)) || ken.Hint(err) == "") {
				t.Errorf("%v; try: %s", err, ken.Hint(err))
			}
		}
	}
}

func TestParseRight(t *testing.T) {
	for _, r := range access.Rights() {
		if got, err := access.ParseRight(string(r)); err != nil || got != r {
			t.Errorf("%s: %s, %v", r, got, err)
		}
	}
	for _, s := range []string{"", "Chat", "admin", "chat "} {
		if got, err := access.ParseRight(s); !errors.Is(err, ken.ErrInvalid) || got != "" {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
}

func TestKeysDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		k := access.NewKey()
		if !strings.HasPrefix(k, access.KeyPrefix) || len(k) != 68 || seen[k] {
			t.Fatalf("key %q", k)
		}
		seen[k] = true
	}
}

func TestRing(t *testing.T) {
	a, b := access.NewKey(), access.NewKey()
	entries := []access.Entry{
		{Hash: access.HashKey(a), Principal: access.Principal{Name: "a", Owner: "ana"}},
		{Hash: access.HashKey(b), Principal: access.Principal{Name: "b", Owner: "bob"}},
		{Hash: access.HashKey(a), Principal: access.Principal{Name: "again", Owner: "eve"}},
	}
	r := access.NewRing(entries...)
	entries[0].Owner = "changed"
	if r.Len() != 3 {
		t.Errorf("%d keys", r.Len())
	}
	for key, want := range map[string]string{a: "ana", b: "bob", "": "", a + "x": "", a[:67]: "", access.HashKey(a).String(): "", strings.ToUpper(a): ""} {
		p, ok := r.Find(key)
		if ok != (want != "") || p.Owner != want {
			t.Errorf("%q is %q's, %t; want %q", key, p.Owner, ok, want)
		}
	}
	if _, ok := access.NewRing().Find(""); ok {
		t.Error("an empty ring has a key")
	}
}

// A hash that can't be read is refused without being repeated: it may be the key.
func FuzzParseHash(f *testing.F) {
	key := access.NewKey()
	for _, s := range []string{access.HashKey(key).String(), key, "", "sha256:", "sha256:" + strings.Repeat("A", 64), "sha256:" + strings.Repeat("z", 64), "md5:00", "sha256:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := access.ParseHash(s)
		switch {
		case err == nil && !strings.EqualFold(h.String(), s):
			t.Fatalf("%q is read as %s", s, h)
		case err != nil && (!errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" || h != access.Hash{}):
			t.Fatalf("%q: %v, %v", s, h, err)
		case err != nil && len(s) > 8 && strings.Contains(err.Error(), s):
			t.Fatalf("%q is in the message: %v", s, err)
		}
	})
}

func Example() {
	key := access.NewKey() // goes to the client; the hash goes into the configuration
	ring := access.NewRing(access.Entry{Hash: access.HashKey(key),
		Principal: access.Principal{Name: "ana's laptop", Owner: "ana", Rights: []access.Right{access.Read}}})

	who, ok := ring.Find(key)
	ctx := access.With(context.Background(), who)
	fmt.Println(ok, access.From(ctx).Owner, access.From(ctx).Can(access.Read))
	fmt.Println(access.From(ctx).Need(access.Write))
	// Output:
	// true ana true
	// this key lacks the right "write"
}

func BenchmarkFind(b *testing.B) {
	entries := make([]access.Entry, 100)
	key := ""
	for i := range entries {
		key = access.NewKey()
		entries[i].Hash = access.HashKey(key)
	}
	r := access.NewRing(entries...)
	for b.Loop() {
		if _, ok := r.Find(key); !ok {
			b.Fatal("not found")
		}
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, model string
		want           bool
	}{
		{"gpt-5", "gpt-5", true},
		{"gpt-5", "gpt-5-mini", false},
		{"gpt-5", "GPT-5", false},
		{"gpt-5*", "gpt-5", true},
		{"gpt-5*", "gpt-5-mini", true},
		{"*-mini", "openai/gpt-5-mini", true},
		{"*/gpt-*-mini", "openai/gpt-5-mini", true},
		{"*/gpt-*-mini", "openai/gpt-5", false},
		{"a*a", "a", false},
		{"a*b*b", "ab", false},
		{"*", "", true},
		{"**", "x", true},
		{"", "x", false},
		{"", "", true},
	} {
		if got := access.Match(tt.pattern, tt.model); got != tt.want {
			t.Errorf("%q, %q: %v", tt.pattern, tt.model, got)
		}
	}
}

// A key without limits may ask every model, forever.
func TestLimits(t *testing.T) {
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	free := access.Principal{Name: "k"}
	if free.Limited() || free.Expired(now) || !free.Allows("anything") {
		t.Errorf("%+v has limits", free)
	}
	p := access.Principal{Models: []string{"gpt-5", "claude-*"}, Expires: now}
	if !p.Limited() || !p.Expired(now) || p.Expired(now.Add(-1)) || !p.Allows("claude-opus") || p.Allows("gpt-5-mini") || p.Allows("") {
		t.Errorf("%+v", p)
	}
}
