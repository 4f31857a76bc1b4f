package receipt

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

// FuzzDecode: whatever lies on the shelf, reading it ends with a receipt of that turn
// or an ErrCorrupt, and what was read is written as it was.
func FuzzDecode(f *testing.F) {
	rec := &Record{Project: "p", Receipt: ken.Receipt{Turn: "t", Session: "s", Items: []ken.Item{{ID: "k", Kind: ken.KindFact, Legs: map[string]ken.LegScore{"keyword": {Rank: 1}}}},
		Cut: []ken.Cut{{ID: "x", Reason: ken.CutFloor}}, MS: map[string]float64{"total": 1}}}
	b, err := encode(new(bytes.Buffer), rec)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(b), "", "\n", "{}\n{}", `{"turn":"t","at":"2026-05-18T09:00:00Z"}` + "\n" + `{"turn":"u"}`,
		`{"turn":"t","at":"2026-05-18T09:00:00Z"}` + "\n" + `{"turn":"t","items":[{"tier":"verified","trust":"agent","legs":null}]}`,
		`{"turn":"t","session":"` + "\x00" + `"}` + "\n{}", `{"turn":"t"}` + "\n[1,2"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rec, err := decode(7, b)
		if err != nil {
			if !errors.Is(err, ken.ErrCorrupt) || rec != nil {
				t.Fatalf("%+v, %v", rec, err)
			}
			return
		}
		if rec.Turn == "" {
			t.Fatal("a receipt of no turn")
		}
		again, err := encode(new(bytes.Buffer), rec)
		if err != nil {
			return // such as a year that can't be written
		}
		same, err := decode(7, again)
		if err != nil {
			t.Fatalf("what was read can't be read again: %v", err)
		}
		if diff := cmp.Diff(rec, same); diff != "" {
			t.Errorf("(-read +read again):\n%s", diff)
		}
	})
}
