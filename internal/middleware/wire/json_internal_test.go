package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

var documents = []string{
	``, ` `, `{}`, ` [ ] `, `{"a":1}`, `{"a" : [ 1 , -0.5e+10 , true , false , null , "x" ] , "b" : { } }`, `"\ud83d\ude00 \ud83d \ude00 \ud83dx \u00e9\/\b\f\n\r\t\\\""`,
	`{"a":1,}`, `[1,]`, `[,]`, `{,}`, `{"a"}`, `{"a":}`, `{1:2}`, `01`, `-`, `1.`, `.5`, `1e`, `1e+`, `+1`, `0x1`, `tru`, `truex`, `"`, `"\`, `"\u12"`, `"\u12g4"`,
	`"\x"`, "\"\n\"", "\"\x7f\"", `[`, `{`, `]`, `[}`, `{]`, `1 2`, `"a" "b"`, `[1 2]`, `{"a":1 "b":2}`, `"12345678\"9012345678\\"`, `1e999`, `[[[[]]],[]]`, `{"\u0061":1,"a":2}`,
	"\ufeff{}", `nul`, `[nulls]`, `{"a":1}}`, `"\\\\\\\\"`, `["\\","\""]`, "\"\xff\"", `-0`, `-01`, `0e1`, `1E5`, `0.0`, `[-]`,
}

func FuzzValid(f *testing.F) {
	for _, d := range documents {
		f.Add([]byte(d))
	}
	f.Add([]byte(strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)))
	f.Add([]byte(strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)))
	f.Fuzz(func(t *testing.T, body []byte) {
		if got := valid(body); got != json.Valid(body) {
			t.Fatalf("valid is %v", got)
		}
	})
}

// The reader and encoding/json read the same.
func FuzzValue(f *testing.F) {
	for _, d := range documents {
		f.Add(d)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		if !valid([]byte(doc)) || !utf8.ValidString(doc) { // a decoder replaces what is not UTF-8
			return
		}
		dec := json.NewDecoder(strings.NewReader(doc))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := decode(document(doc)); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %#v, want %#v", got, want)
		}
	})
}

// decode makes of a value what encoding/json makes of it.
func decode(v value) any {
	switch {
	case v.isObject():
		m := map[string]any{}
		v.each(func(key string, v value) bool { m[key] = decode(v); return true })
		return m
	case v.isArray():
		a := []any{}
		v.each(func(_ string, v value) bool { a = append(a, decode(v)); return true })
		return a
	case v.isString():
		return v.text()
	case v.isTrue():
		return true
	case v.isFalse():
		return false
	case v.isNull():
		return nil
	}
	return json.Number(v.raw())
}

// asJSON is what encoding/json makes of a string, without the quotes.
func asJSON(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return b.String()[1 : b.Len()-len("\"\n")]
}

func FuzzAppendEscaped(f *testing.F) {
	var every strings.Builder
	for r := range rune(0x300) {
		every.WriteRune(r)
	}
	for _, s := range []string{"", "plain", `"quoted\" <b>&`, every.String(), "a\u2028b\u2029c\u2027\u202a", "\xff\xc3x\xe2\x80", "ends\xe2\x80\xa8", "日本語 🙂",
		"�", "\x7f\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := string(appendEscaped([]byte("before"), s)), "before"+asJSON(t, s); got != want {
			t.Errorf("%q became\n%s, not\n%s", s, got, want)
		}
	})
}

func BenchmarkEscape(b *testing.B) {
	text := strings.Repeat("- The service retries \"three\" times, ten seconds apart.\n", 100)
	buf := make([]byte, 0, 2*len(text))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		buf = appendEscaped(buf[:0], text)
	}
}
