package lazyregexp

import (
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
)

const pattern = `(\w)(\d+)`

// Each method gives what the one of regexp.Regexp of its name gives.
func TestMethodsAreThoseOfRegexp(t *testing.T) {
	want, got := reflect.ValueOf(regexp.MustCompile(pattern)), reflect.ValueOf(New(pattern))
	args := map[reflect.Type]any{
		reflect.TypeFor[string]():              "a1 b22 c333",
		reflect.TypeFor[[]byte]():              []byte("a1 b22 c333"),
		reflect.TypeFor[int]():                 2,
		reflect.TypeFor[func(string) string](): strings.ToUpper,
	}
	for i := range got.NumMethod() {
		name := got.Type().Method(i).Name
		t.Run(name, func(t *testing.T) {
			var in []reflect.Value
			for j := range got.Method(i).Type().NumIn() {
				arg := reflect.ValueOf(args[got.Method(i).Type().In(j)])
				if j > 0 && arg.Kind() == reflect.String {
					arg = reflect.ValueOf("$2$1")
				}
				in = append(in, arg)
			}
			for _, text := range []any{"a1 b22 c333", "", "none"} {
				if in[0] = reflect.ValueOf(text); got.Method(i).Type().In(0).Kind() == reflect.Slice {
					in[0] = in[0].Convert(got.Method(i).Type().In(0))
				}
				g, w := got.Method(i).Call(in)[0].Interface(), want.MethodByName(name).Call(in)[0].Interface()
				if !reflect.DeepEqual(g, w) {
					t.Errorf("%q gives %q, want %q", text, g, w)
				}
			}
		})
	}
}

func TestWrongPatternsAreFound(t *testing.T) {
	panics := func(f func()) (panicked bool) {
		defer func() { panicked = recover() != nil }()
		f()
		return false
	}
	if !panics(func() { New("(") }) {
		t.Error("in a test binary, New takes a wrong pattern")
	}
	var lazy *Regexp
	if panics(func() { lazy = newRegexp("(", false) }) {
		t.Fatal("elsewhere, New compiles")
	}
	if !panics(func() { lazy.MatchString("") }) {
		t.Error("elsewhere, the first use takes a wrong pattern")
	}
}

func TestFirstUsesAtOnce(t *testing.T) {
	r := newRegexp(pattern, false)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if !r.MatchString("a1") {
				t.Error("no match")
			}
		})
	}
	all.Wait()
}

func TestUnderTest(t *testing.T) {
	for name, want := range map[string]bool{"/tmp/b001/ken.test": true, `C:\b001\ken.test.exe`: true, "/usr/bin/ken": false, "ken.exe": false} {
		if got := underTest([]string{name}); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if underTest(nil) {
		t.Error("a program without a name is a test")
	}
}
