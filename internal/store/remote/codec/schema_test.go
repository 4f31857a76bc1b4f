package codec_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/remote/codec"
	"github.com/kenlayer/ken/store"
)

// described returns the schema of v's type as JSON.
func described(t testing.TB, v any) []byte {
	t.Helper()
	var s codec.Schema
	s.Add(reflect.TypeOf(v))
	b, err := json.Marshal(&s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reading returns a Reader that decodes values of from's type into a To.
func reading[To any](t testing.TB, from any, strict bool) (*codec.Reader, error) {
	t.Helper()
	var s codec.Schema
	if err := errors.Join(json.Unmarshal(described(t, from), &s), s.Check()); err != nil {
		t.Fatal(err)
	}
	var sent codec.Schema
	return s.Reader(sent.Add(reflect.TypeOf(from)), reflect.TypeFor[To](), "it", strict)
}

func readAs[To any](t testing.TB, from any, strict bool) (out To, err error) {
	t.Helper()
	r, err := reading[To](t, from, strict)
	if err != nil {
		t.Fatal(err)
	}
	p := reflect.New(reflect.TypeOf(from))
	p.Elem().Set(reflect.ValueOf(from))
	return out, r.Decode(codec.Append(nil, p.Interface()), &out)
}

// The types of two builds, side by side.
type (
	oldNote struct {
		Title string
		Size  int64
		Tags  []string
		Where oldPlace
		Parts []oldNote
		Gone  map[string]oldPlace
	}
	oldPlace struct{ X, Y int }
	newNote  struct {
		Parts []newNote
		Tree  *newNote
		When  time.Time
		Where newPlace
		Size  int32
		Tags  []string
		Title string
	}
	newPlace struct {
		Z float64
		Y int16
		X int
	}
)

func TestFieldsAreMatchedByName(t *testing.T) {
	old := oldNote{Title: "t", Size: -7, Tags: []string{}, Where: oldPlace{1, 2}, Gone: map[string]oldPlace{"k": {3, 4}},
		Parts: []oldNote{{Title: "sub", Parts: []oldNote{{Size: math.MaxInt32}}}}}
	want := newNote{Title: "t", Size: -7, Tags: []string{}, Where: newPlace{X: 1, Y: 2},
		Parts: []newNote{{Title: "sub", Parts: []newNote{{Size: math.MaxInt32}}}}}
	got, err := readAs[newNote](t, old, false)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	later := newNote{Title: "t", Tags: []string{"x"}, When: time.Unix(1, 2), Where: newPlace{1.5, 2, 3}, Tree: &newNote{Title: "below"}}
	back, err := readAs[oldNote](t, later, false)
	if diff := cmp.Diff(oldNote{Title: "t", Tags: []string{"x"}, Where: oldPlace{X: 3, Y: 2}}, back); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestAFieldWithAValueThatIsNotKnownIsRefused checks that a strict Reader refuses a non-zero
// unknown field and names it.
func TestAFieldWithAValueThatIsNotKnownIsRefused(t *testing.T) {
	negative := math.Copysign(0, -1)
	for field, v := range map[string]newNote{
		"":                        {Title: "t", Where: newPlace{X: 1}, Parts: []newNote{{Size: 1}}},
		"codec_test.oldNote.Tree": {Tree: &newNote{}},
		"codec_test.oldNote.When": {Parts: []newNote{{}, {When: time.Unix(0, 0)}}},
		"codec_test.oldPlace.Z":   {Where: newPlace{Z: negative}},
	} {
		_, err := readAs[oldNote](t, v, true)
		var unknown *codec.UnknownError
		if field == "" && err != nil || field != "" && (!errors.As(err, &unknown) || unknown.Field != field) {
			t.Errorf("%q: %v", field, err)
		}
	}
	type without struct{ S string }
	if _, err := readAs[without](t, full(), true); err == nil {
		t.Error("a value of every type was lost")
	}
	for name, v := range map[string]every{"full": full(), "empty, not nil": {L: []string{}}, "zero": {}} {
		if _, err := readAs[without](t, v, false); err != nil {
			t.Errorf("%s: not skipped: %v", name, err)
		}
		if _, err := readAs[without](t, v, true); (err == nil) != (name == "zero") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatDoesNotFitIsNamed(t *testing.T) {
	type in struct{ A, B int }
	type text struct {
		A int
		B string
	}
	type wide struct{ A, B uint }
	type outer struct{ In []in }
	type otherOuter struct{ In map[string]text }
	type sub struct{ In []text }
	type tag struct{ H [16]byte }
	type longTag struct{ H [20]byte }
	type little struct{ B bool }
	type large struct {
		B bool
		S [64]string
	}
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"text for a number":     {second(reading[in](t, text{}, false)), "codec_test.in.B is of kind string there, and of kind int here"},
		"no sign":               {second(reading[in](t, wide{}, false)), "codec_test.in.A is of kind uint there, and of kind int here"},
		"a map for a list":      {second(reading[outer](t, otherOuter{}, false)), "codec_test.outer.In is of kind map there, and of kind list here"},
		"deep":                  {second(reading[outer](t, sub{}, false)), "codec_test.in.B is of kind string there, and of kind int here"},
		"not a struct":          {second(reading[in](t, "", false)), "it is of kind string there, and of kind struct here"},
		"another length":        {second(reading[tag](t, longTag{}, false)), "codec_test.tag.H has 20 elements there, and 16 here"},
		"much of little":        {second(reading[[]large](t, []little{}, false)), "it has too few fields there"},
		"much of little, a map": {second(reading[map[string]large](t, map[string]little{}, false)), "it has too few fields there"},
	} {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("%s: %v", name, tt.err)
		}
	}
	type short struct{ N int8 }
	type long struct{ N int64 }
	if got, err := readAs[short](t, long{-128}, true); err != nil || got.N != -128 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := readAs[short](t, long{128}, true); err == nil {
		t.Error("a number too large was read")
	}
}

func second[T any](_ T, err error) error { return err }

// TestAReaderOfOnesOwnSchemaReadsTheSame checks that a Reader for the schema of the same types
// returns the same as Decode.
func TestAReaderOfOnesOwnSchemaReadsTheSame(t *testing.T) {
	for name, in := range map[string]every{"zero": {}, "full": full(), "empty, not nil": {Raw: json.RawMessage{}, L: []string{}, M: map[string]inner{}, PP: &inner{}}} {
		out, err := readAs[every](t, in, true)
		if diff := cmp.Diff(in, out); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if _, err := readAs[ken.Claim](t, ken.Claim{Text: "t"}, true); err != nil {
		t.Error(err)
	}
	r, err := reading[every](t, every{}, true)
	if err != nil {
		t.Fatal(err)
	}
	in := full()
	b := codec.Append(nil, &in)
	for n := range b {
		if err := r.Decode(b[:n], new(every)); err == nil {
			t.Fatalf("%d of %d bytes were enough", n, len(b))
		}
	}
	if err := r.Decode(append(b, 0), new(every)); err == nil {
		t.Error("a byte too many was not noticed")
	}
	if err := r.Decode(b, new(inner)); err == nil {
		t.Error("it was read into something else")
	}
}

// TestSkippingIsBounded checks that skipped values have the same limits as decoded values.
func TestSkippingIsBounded(t *testing.T) {
	type with struct {
		N int
		T tree
		L [][]string
	}
	type without struct{ N int }
	r, err := reading[without](t, with{}, false)
	if err != nil {
		t.Fatal(err)
	}
	deep := []byte{2}
	for range 10_000 {
		deep = append(deep, 0, 2) // no name, one sub
	}
	for name, b := range map[string][]byte{"deep": append(deep, 0, 0, 0), "more than there is": {2, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}, "long": {2, 0xff, 0xff, 0xff, 0xff, 0x0f}} {
		if err := r.Decode(b, new(without)); err == nil {
			t.Errorf("%s: it was read", name)
		}
	}
}

func TestASchemaThatMakesNoSenseIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"an unknown kind":         `{"types":[{"kind":"complex"}]}`,
		"a list of itself":        `{"types":[{"kind":"list","elem":0}]}`,
		"lists of each other":     `{"types":[{"kind":"list","elem":1},{"kind":"list","elem":0}]}`,
		"an element beyond":       `{"types":[{"kind":"list","elem":7}]}`,
		"an element before":       `{"types":[{"kind":"pointer","elem":-1}]}`,
		"a key beyond":            `{"types":[{"kind":"int"},{"kind":"map","key":2,"elem":0}]}`,
		"a field beyond":          `{"types":[{"kind":"struct","fields":[{"name":"A","type":1}]}]}`,
		"a field without a name":  `{"types":[{"kind":"struct","fields":[{"type":0}]}]}`,
		"a field twice":           `{"types":[{"kind":"struct","fields":[{"name":"A","type":0},{"name":"A","type":0}]}]}`,
		"an array without an end": `{"types":[{"kind":"int"},{"kind":"array","elem":0,"len":99999999}]}`,
		"no bytes":                `{"types":[{"kind":"raw"}]}`,
		"too many types":          `{"types":[` + strings.Repeat(`{"kind":"int"},`, 5000) + `{"kind":"int"}]}`,
	} {
		var s codec.Schema
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := s.Check(); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	// A struct that contains itself can be described, but no value of it can be encoded.
	var s codec.Schema
	text := `{"types":[{"kind":"struct","fields":[{"name":"A","type":0},{"name":"B","type":0}]},{"kind":"struct","fields":[{"name":"Endless","type":0}]}]}`
	if err := errors.Join(json.Unmarshal([]byte(text), &s), s.Check()); err != nil {
		t.Fatal(err)
	}
	r, err := s.Reader(1, reflect.TypeFor[inner](), "it", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Decode(make([]byte, 1<<20), new(inner)); err == nil {
		t.Error("it was read")
	}
	if _, err := s.Reader(2, reflect.TypeFor[inner](), "it", false); err == nil {
		t.Error("a type that there is not was read")
	}
}

// FuzzSchema decodes values with an arbitrary schema.
func FuzzSchema(f *testing.F) {
	for _, v := range []any{every{}, ken.Claim{}, oldNote{}, newNote{}, []store.Document{}, map[string]store.Known{}} {
		p := reflect.New(reflect.TypeOf(v))
		f.Add(described(f, v), codec.Append(nil, p.Interface()))
	}
	in, note := full(), newNote{Tree: &newNote{Tags: []string{"x"}}, Parts: []newNote{{}}}
	f.Add(described(f, in), codec.Append(nil, &in))
	f.Add(described(f, note), codec.Append(nil, &note))
	ours := []reflect.Type{reflect.TypeFor[every](), reflect.TypeFor[oldNote](), reflect.TypeFor[newNote](), reflect.TypeFor[ken.Claim](), reflect.TypeFor[[]store.Document](), reflect.TypeFor[empty]()}
	f.Fuzz(func(t *testing.T, text, b []byte) {
		var s codec.Schema
		if json.Unmarshal(text, &s) != nil || s.Check() != nil {
			return
		}
		for id := range s.Types[:min(len(s.Types), 8)] {
			for _, to := range ours {
				again := codec.Schema{Types: slices.Clone(s.Types)}
				if err := again.Check(); err != nil {
					t.Fatal(err)
				}
				lax, err := again.Reader(id, to, "it", false)
				if err != nil {
					continue
				}
				strict, err := again.Reader(id, to, "it", true)
				if err != nil {
					t.Fatal(err)
				}
				v, w := reflect.New(to), reflect.New(to)
				wrong, refused := lax.Decode(b, v.Interface()), strict.Decode(b, w.Interface())
				var unknown *codec.UnknownError
				if (wrong == nil) != (refused == nil) && (wrong != nil || !errors.As(refused, &unknown)) {
					t.Fatalf("%v, and the strict one: %v", wrong, refused)
				}
				if hasMaps := to != reflect.TypeFor[newNote]() && to != reflect.TypeFor[ken.Claim](); !hasMaps && refused == nil &&
					!slices.Equal(codec.Append(nil, v.Interface()), codec.Append(nil, w.Interface())) {
					t.Fatalf("%v and %v", v.Elem(), w.Elem())
				}
			}
		}
	})
}

type empty struct{}

func BenchmarkReader(b *testing.B) {
	c := ken.Claim{ID: "0198a000-0000-7000-8000-000000000001", Owner: "default", Kind: ken.KindFact, Text: "payments uses sagas, and the orchestrator keeps their state",
		Status: ken.StatusObserved, Confidence: 1, Importance: 0.5, CreatedAt: time.Unix(1, 2).UTC(), UpdatedAt: time.Unix(1, 2).UTC(), Evidence: []ken.Evidence{ken.FromFile("a.go", "sha256:00", "")}}
	raw := codec.Append(nil, &c)
	r, err := reading[ken.Claim](b, c, true)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var out ken.Claim
		if err := r.Decode(raw, &out); err != nil {
			b.Fatal(err)
		}
	}
}
