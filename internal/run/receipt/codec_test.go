package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

// Every field of a receipt comes back, those of its long lists, too: a new field of theirs
// has to be in coder.
func TestEveryFieldIsRead(t *testing.T) {
	rec := &Record{}
	fill(reflect.ValueOf(rec).Elem())
	rec.Used, rec.Taint = nil, nil // they lie beside it
	s := &rec.Signals
	s.Question, s.Subject, s.Asks, s.Resumes = "", "", false, false // never kept
	b, err := encode(new(bytes.Buffer), rec)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(7, b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rec, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// fill sets every field of a value to something, each to something else.
func fill(v reflect.Value) {
	var n int
	var set func(v reflect.Value)
	set = func(v reflect.Value) {
		n++
		switch x := v.Addr().Interface().(type) {
		case *time.Time:
			*x = time.Date(2026, 5, 18, 9, 0, 0, n, time.UTC)
			return
		case *ken.Tier:
			*x = ken.Verified
			return
		case *ken.Trust:
			*x = ken.TrustOperator
			return
		}
		switch v.Kind() {
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			set(v.Elem())
		case reflect.Struct:
			for _, field := range v.Fields() {
				set(field)
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			set(v.Index(0))
			set(v.Index(1))
		case reflect.Map:
			v.Set(reflect.MakeMap(v.Type()))
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			set(key)
			set(value)
			v.SetMapIndex(key, value)
		case reflect.String:
			v.SetString(fmt.Sprint("text ", n))
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Float64:
			v.SetFloat(float64(n) / 3)
		case reflect.Int, reflect.Int64:
			v.SetInt(int64(-n))
		case reflect.Uint64, reflect.Uint32:
			v.SetUint(uint64(n))
		default:
			panic(v.Type())
		}
	}
	set(v)
}

func TestFormOfLists(t *testing.T) {
	const id = "0198a000-0000-7000-8000-00000000000a"
	for name, rec := range map[string]Record{
		"nothing":         {},
		"empty lists":     {Receipt: ken.Receipt{Items: []ken.Item{}, Cut: []ken.Cut{}, Ranking: &ken.Ranking{Candidates: []ken.Features{}}}},
		"no candidates":   {Receipt: ken.Receipt{Ranking: &ken.Ranking{Cut: 3}}},
		"ids":             {Receipt: ken.Receipt{Cut: []ken.Cut{{ID: id}, {ID: strings.ToUpper(id)}, {ID: ""}, {ID: "claim-1"}, {ID: strings.ReplaceAll(id, "0", "-")}}}},
		"empty maps":      {Receipt: ken.Receipt{Items: []ken.Item{{Legs: map[string]ken.LegScore{}, Signals: map[string]float64{}}}}},
		"numbers":         {Receipt: ken.Receipt{Items: []ken.Item{{Chars: -1, Fused: -0.1}, {Chars: math.MaxInt32, Fused: math.MaxFloat64}}}},
		"many map keys":   {Receipt: ken.Receipt{Items: []ken.Item{{Signals: many(100)}, {Signals: many(100)}}}},
		"a name of nulls": {Receipt: ken.Receipt{Cut: []ken.Cut{{Reason: "\n\x00\n"}, {Reason: "\n\x00\n"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			rec.Turn = "t"
			b, err := encode(new(bytes.Buffer), &rec)
			if err != nil {
				t.Fatal(err)
			}
			got, err := decode(7, b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&rec, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, f := range []float64{math.NaN(), math.Inf(1)} {
		if _, err := encode(new(bytes.Buffer), &Record{Receipt: ken.Receipt{Turn: "t", Items: []ken.Item{{Fused: f}}}}); err == nil {
			t.Errorf("%v was written", f)
		}
	}
}

func many(n int) map[string]float64 {
	out := map[string]float64{}
	for i := range n {
		out[fmt.Sprint("signal ", i)] = float64(i)
	}
	return out
}

// FuzzDecode checks that any bytes decode to a receipt of that turn or an ErrCorrupt,
// and that a decoded receipt is encoded to the same bytes.
func FuzzDecode(f *testing.F) {
	rec := &Record{Project: "p", Receipt: ken.Receipt{Turn: "t", Session: "s", Items: []ken.Item{{ID: "k", Kind: ken.KindFact, Legs: map[string]ken.LegScore{"keyword": {Rank: 1}}}},
		Cut: []ken.Cut{{ID: "x", Reason: ken.CutFloor}}, MS: map[string]float64{"total": 1}}}
	b, err := encode(new(bytes.Buffer), rec)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(b), "", "\n", "{}\n{}", `{"turn":"t","at":"2026-05-18T09:00:00Z"}` + "\n" + `{"turn":"u"}`,
		`{"turn":"t","at":"2026-05-18T09:00:00Z"}` + "\n" + `{"turn":"t","items":[{"tier":"verified","trust":"agent","legs":null}]}`,
		strings.Replace(string(b), `"lists":1`, `"lists":2`, 1), string(b[:len(b)-3]), string(b) + "\x00",
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

// To write a receipt changes nothing of it: the turn that it is of is shown meanwhile. The race
// detector sees a write.
func TestEncodingOnlyReads(t *testing.T) {
	rec := &Record{}
	fill(reflect.ValueOf(rec).Elem())
	done := make(chan error, 2)
	for range 2 {
		go func() {
			var err error
			for range 20 {
				if _, err = encode(new(bytes.Buffer), rec); err != nil {
					break
				}
			}
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
