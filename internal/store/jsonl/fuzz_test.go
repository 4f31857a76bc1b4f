package jsonl_test

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/jsonl"
)

// FuzzRead checks that for any input, line numbers increase, errors are of one type,
// and an accepted line is valid and can be written and read again.
func FuzzRead(f *testing.F) {
	seeds, err := os.ReadFile("testdata/import.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seeds)
	for line := range bytes.Lines(seeds) {
		f.Add(line)
	}
	f.Add([]byte("\ufeff{\"text\":\"a\"}\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		last := 0
		for l := range jsonl.Read(bytes.NewReader(data), "f") {
			if l.N <= last {
				t.Fatalf("line %d after line %d", l.N, last)
			}
			last = l.N
			if l.Err != nil {
				if !errors.Is(l.Err, ken.ErrInvalid) {
					t.Fatalf("line %d: %v", l.N, l.Err)
				}
				continue
			}
			if err := l.Claim.Validate(); err != nil {
				t.Fatalf("line %d was accepted: %v", l.N, err)
			}
			var b bytes.Buffer
			if err := jsonl.Write(&b, l.Claim, l.History); err != nil {
				t.Fatalf("line %d can't be written: %v", l.N, err)
			}
			for again := range jsonl.Read(&b, "f") {
				if again.Err != nil {
					t.Fatalf("line %d was written as what can't be read: %v", l.N, again.Err)
				}
				if diff := cmp.Diff(compact(t, l.Claim), compact(t, again.Claim)); diff != "" {
					t.Fatalf("line %d (-first +again):\n%s", l.N, diff)
				}
			}
		}
	})
}

// compact writes a claim in the one form that both readings must have.
func compact(t *testing.T, c ken.Claim) string {
	t.Helper()
	var b bytes.Buffer
	if err := jsonl.Write(&b, c, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// requireAllSet fails when a field of the struct v is zero, so that a test that
// claims to set everything notices a new one.
func requireAllSet(t *testing.T, v any, but ...string) {
	t.Helper()
	s := reflect.ValueOf(v)
	for i := range s.NumField() {
		if name := s.Type().Field(i).Name; s.Field(i).IsZero() && !slices.Contains(but, name) {
			t.Fatalf("the test leaves %s.%s unset", s.Type(), name)
		}
	}
}
