package finding

import "testing"

func TestDifference(t *testing.T) {
	for _, tt := range []struct{ name, old, next, want string }{
		{"changed", "a := 10\nb := 20\n", "a := 10\nb := 30\n", "`b := 20` became `b := 30`"},
		{"added", "a := 10\n", "a := 10\nb := 30\n", "added `b := 30`"},
		{"removed", "a := 10\nb := 30\n", "a := 10\n", "removed `b := 30`"},
		{"added above", "b := 30\n", "a := 10\nb := 30\n", "added `a := 10`"},
		{"braces say nothing", "}\n", "\t}\n}\nreturn err\n", "added `return err`"},
		{"backquotes", "x", "use `this` now", "added `use 'this' now`"},
	} {
		if got := difference(tt.old, tt.next).text(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, same := range [][2]string{{"", ""}, {"a := 10", "a := 10"}, {"a :=  10", "a := 10\n"}, {"}", "{"}} {
		if got := difference(same[0], same[1]); got != (line{}) {
			t.Errorf("%q: %+v", same, got)
		}
	}
}

func TestEnclosing(t *testing.T) {
	const text = "package a\n\nfunc First() {\n\tx := 1\n}\n\ntype T struct {\n\ty int\n}\n\nfunc (t *T) Second() {\n\tz := 2\n}\n"
	for passage, want := range map[string]string{"\tx := 1\n": "First", "\ty int": "T", "z := 2": "Second", "package a": "", "nowhere": "", "": ""} {
		if got := enclosing(text, passage); got != want {
			t.Errorf("%q is part of %q, want %q", passage, got, want)
		}
	}
}

// What is put back is not to be told as a change, nor the way there.
func TestTakenBackIsForgotten(t *testing.T) {
	e := &edited{}
	for _, c := range [][2]string{{"a := 1", "a := 2"}, {"b := 1", "b := 2"}, {"b := 2", "b := 1"}, {"a := 2", "a := 1"}} {
		e.add(change{old: c[0], new: c[1]}, "")
	}
	if got := e.text("x.go"); got != "" {
		t.Errorf("%q", got)
	}
	e.add(change{old: "c := 1", new: "c := 2"}, "")
	if got := e.text("x.go"); got != "x.go (5 edits): `c := 1` became `c := 2`" {
		t.Errorf("%q", got)
	}
}

func TestWrittenWithoutAnythingToTell(t *testing.T) {
	e := &edited{}
	e.add(change{new: "1,2\n3,4\n", full: true}, "")
	if got := e.text("data.csv"); got != "data.csv was written: 2 lines" {
		t.Errorf("%q", got)
	}
}
