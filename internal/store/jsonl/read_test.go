package jsonl_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/jsonl"
)

var update = flag.Bool("update", false, "write the golden files")

// render formats a line for review: a valid line is written back, an invalid one shows
// the error.
func render(w io.Writer, l jsonl.Line) {
	if l.Err != nil {
		fmt.Fprintf(w, "%d: %v\n", l.N, l.Err)
		if hint := ken.Hint(l.Err); hint != "" {
			fmt.Fprintf(w, "    Try: %s\n", hint)
		}
		return
	}
	fmt.Fprintf(w, "%d: ", l.N)
	if err := jsonl.Write(w, l.Claim, l.History); err != nil {
		fmt.Fprintln(w, err)
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestReadGolden(t *testing.T) {
	data, err := os.ReadFile("testdata/import.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string][]byte{
		"as it is":          data,
		"byte order mark":   append([]byte("\ufeff"), data...),
		"Windows line ends": bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")),
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			for l := range jsonl.Read(bytes.NewReader(in), "notes.jsonl") {
				render(&got, l)
			}
			golden(t, "testdata/import.golden", got.String())
		})
	}
}

func TestReadIsTheSameInSmallReads(t *testing.T) {
	data, err := os.ReadFile("testdata/import.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want, got := readAll(bytes.NewReader(data)), readAll(iotest.OneByteReader(bytes.NewReader(data)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func readAll(r io.Reader) (out []string) {
	for l := range jsonl.Read(r, "f") {
		var b strings.Builder
		render(&b, l)
		out = append(out, b.String())
	}
	return out
}

// Every error must be one that a program can act on.
func TestReadErrorsHaveACodeAndAdvice(t *testing.T) {
	f, err := os.Open("testdata/import.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	bad := 0
	for l := range jsonl.Read(f, "f") {
		if l.Err == nil {
			continue
		}
		bad++
		if !errors.Is(l.Err, ken.ErrInvalid) || ken.Hint(l.Err) == "" {
			t.Errorf("line %d: %v has no code or no advice", l.N, l.Err)
		}
	}
	if bad < 30 {
		t.Errorf("%d bad lines, the file has more", bad)
	}
}

func TestReadDefaultEvidenceIsTheLine(t *testing.T) {
	for l := range jsonl.Read(strings.NewReader("\n\n{\"text\":\"a\"}\n"), "notes.jsonl") {
		if l.Err != nil {
			t.Fatal(l.Err)
		}
		want := ken.FromArtifact("import:notes.jsonl:3", "notes.jsonl")
		want.Line = 3
		if diff := cmp.Diff([]ken.Evidence{want}, l.Claim.Evidence); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A file in another encoding must not come in with its letters replaced.
func TestReadRefusesOtherEncodings(t *testing.T) {
	in := "{\"text\":\"caf\xe9\"}\n{\"text\":\"fine\"}\n{\"text\":\"nul \\u0000 is the store's to clean\"}\n{\"text\":\"raw \x00\"}\n"
	var good []int
	for l := range jsonl.Read(strings.NewReader(in), "f") {
		if l.Err == nil {
			good = append(good, l.N)
		} else if !errors.Is(l.Err, ken.ErrInvalid) {
			t.Errorf("line %d: %v", l.N, l.Err)
		}
	}
	if !cmp.Equal(good, []int{2, 3}) {
		t.Errorf("read lines %v, want 2 and 3", good)
	}
}

func TestReadLongLines(t *testing.T) {
	fits := func(size int) string { // a line of exactly this size
		const claim = `{"text":"a"}`
		return strings.Repeat(" ", size-len(claim)) + claim
	}
	for _, end := range []string{"\n", "\r\n"} {
		in := fits(jsonl.MaxLine) + end + fits(jsonl.MaxLine+1) + end + strings.Repeat(" ", jsonl.MaxLine+9) + end + `{"text":"next"}`
		var got []string
		for l := range jsonl.Read(strings.NewReader(in), "f") {
			switch {
			case l.Err == nil:
				got = append(got, fmt.Sprintf("%d ok", l.N))
			case errors.Is(l.Err, ken.ErrInvalid):
				got = append(got, fmt.Sprintf("%d bad", l.N))
			default:
				t.Fatal(l.Err)
			}
		}
		if want := []string{"1 ok", "2 bad", "3 bad", "4 ok"}; !cmp.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func TestReadReportsTheReadersError(t *testing.T) {
	r := io.MultiReader(strings.NewReader("{\"text\":\"a\"}\n{\"te"), iotest.ErrReader(io.ErrUnexpectedEOF))
	var got []jsonl.Line
	for l := range jsonl.Read(r, "notes.jsonl") {
		got = append(got, l)
	}
	if len(got) != 2 || got[0].Err != nil || !errors.Is(got[1].Err, io.ErrUnexpectedEOF) || got[1].N != 2 {
		t.Fatalf("got %+v", got)
	}
	if _, ok := errors.AsType[*ken.Error](got[1].Err); ok {
		t.Error("a broken reader looks like a bad line")
	}
}

func TestReadStopsWhenAsked(t *testing.T) {
	n := 0
	for range jsonl.Read(strings.NewReader(strings.Repeat("{\"text\":\"a\"}\n", 10)), "f") {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d lines", n)
	}
}

func BenchmarkRead(b *testing.B) {
	line := `{"key":"adr-7","heading":"Sagas","text":"payments uses the saga pattern for multi-step transactions",` +
		`"evidence":[{"kind":"file","path":"saga.go","line":3}],"tags":["saga"],"created_at":"2026-03-14T10:00:00Z"}` + "\n"
	file := strings.Repeat(line, 1000)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		for l := range jsonl.Read(strings.NewReader(file), "f") {
			if l.Err != nil {
				b.Fatal(l.Err)
			}
		}
	}
}
