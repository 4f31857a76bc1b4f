package analysis

import "testing"

func TestOriginOf(t *testing.T) {
	for _, tt := range []struct {
		kind, source string
		want         Origin
	}{
		{"import", "gin.go:1", OriginNone},
		{"", "", OriginNone},
		{"git", "commit 1234", OriginCommit},
		{"repository", "gin.go:97", OriginCode},
		{"repository", "lib/view.js:1", OriginCode},
		{"repository", "src/contest.py:1", OriginCode},
		{"repository", "gin_test.go:1", OriginTest},
		{"repository", "web/a.spec.ts:1", OriginTest},
		{"repository", "test/app.js:1", OriginTest},
		{"repository", "tests/conftest.py:1", OriginTest},
		{"repository", "test_app.py:1", OriginTest},
		{"repository", "x/testdata/a.txt:1", OriginTest},
		{"repository", "src/test/java/A.java:9", OriginTest},
		{"repository", "examples/mvc/index.js:1", OriginExample},
		{"repository", "History.md:3", OriginChangelog},
		{"repository", "CHANGES.rst:3", OriginChangelog},
		{"repository", "CHANGELOG-2.0.md:3", OriginChangelog},
		{"repository", "history.go:3", OriginCode},
		{"repository", "docs/history/2.1.rst:3", OriginChangelog},
		{"repository", "doc/whatsnew/v1.0.rst:3", OriginChangelog},
		{"repository", "docs/whatsnew-4.0.rst:3", OriginChangelog},
		{"repository", "src/history/store.ts:3", OriginCode},
		{"repository", "docs/config.rst:3", OriginDocument},
		{"repository", "LICENSE:1", OriginDocument},
		{"repository", "latest/a.md:1", OriginDocument},
		{"repository", "Makefile:1", OriginSettings},
		{"repository", ".github/workflows/ci.yml:1", OriginSettings},
		{"repository", "package.json:1", OriginSettings},
	} {
		if got := OriginOf(tt.kind, tt.source); got != tt.want {
			t.Errorf("OriginOf(%q, %q) = %d, want %d", tt.kind, tt.source, got, tt.want)
		}
	}
}

func TestOriginIsKeptInTraits(t *testing.T) {
	f := FormOf("Ada: when did I move to Rome? I moved in May.")
	for o := range Origin(Origins) {
		g := f.From(OriginSettings).From(o)
		if g.Traits.Origin() != o || g.From(OriginNone) != f {
			t.Errorf("origin %d: %+v", o, g)
		}
	}
}

// A piece of code that only declares is told from one that does something.
func TestFileForm(t *testing.T) {
	for _, tt := range []struct {
		kind, source, text string
		want               bool
	}{
		{"repository", "nats.go:9", "// Options configure it.\ntype Options struct {\n\tName string\n}", true},
		{"repository", "nats.go:9", "var ErrClosed = errors.New(\"closed\")", true},
		{"repository", "nats.go:9", "/* It drains.\ntype of it */\nfunc Drain() {}", false},
		{"repository", "lib/a.js:1", "const drain = () => { close() }", false},
		{"repository", "src/a.ts:1", "/** It is set. */\nexport interface Options {\n}", true},
		{"repository", "src/a.ts:1", "export default function drain() {}", false},
		{"repository", "typings/index.d.ts:1", "export function drain(): void;", true},
		{"repository", "src/a.py:1", "# the type of it\n@dataclass\nclass Options:\n    name: str", false},
		{"repository", "docs/a.md:1", "type Options struct", false},
		{"", "nats.go:9", "type Options struct", false},
		{"repository", "nats.go:9", "", false},
	} {
		f := FileForm(tt.kind, tt.source, tt.text)
		if f.Traits.Declares() != tt.want || f.Traits.Origin() != OriginOf(tt.kind, tt.source) {
			t.Errorf("%s %s %q: %08b", tt.kind, tt.source, tt.text, f.Traits)
		}
	}
	for source, want := range map[string]bool{"index.d.ts:1": true, "types/a.d.mts:1": true, "a.pyi:7": true, "a.ts:1": false, "a.proto:1": false, "docs/a.d.ts.md:1": false} {
		if got := FileForm("repository", source, "export function drain(): void;").Traits.Stub(); got != want {
			t.Errorf("%s declares what another file does: %v", source, got)
		}
	}
	for text, want := range map[string]Origin{
		"#[test]\nfn adds() {}": OriginTest,
		"/// It adds.\n#[tokio::test(flavor = \"x\")]\nasync fn adds() {}": OriginTest,
		"#[rstest]\n#[case(1)]\nfn adds(n: u8) {}":                         OriginTest,
		"}\n\n#[cfg(test)]\nmod tests {\n    use super::*;":                OriginTest,
		"mod walk;\n#[cfg(test)]\nmod testing;\nfn main() {}":              OriginCode,
		"#[cfg(test)]\nuse crate::fake;\nfn add() {}":                      OriginCode,
		"fn add() { // see #[test]\n}":                                     OriginCode,
		"#[derive(Debug)]\nstruct Test;":                                   OriginCode,
		"#[cfg(feature = \"test\")]\nfn add() {}":                          OriginCode,
	} {
		if got := FileForm("repository", "src/lib.rs:1", text).Traits.Origin(); got != want {
			t.Errorf("%q: origin %d, want %d", text, got, want)
		}
	}
	if f := FileForm("", "", "Ann: I prefer tea, always. Do you?"); f != FormOf("Ann: I prefer tea, always. Do you?") {
		t.Errorf("what is said: %+v", f)
	}
	if f := FileForm("repository", "a.js:1", "return a ? mine : yours"); f.Traits != FileForm("repository", "a.js:1", "return").Traits {
		t.Errorf("code asks nothing: %+v", f)
	}
}
