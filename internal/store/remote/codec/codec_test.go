package codec_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/remote/codec"
	"github.com/kenlayer/ken/store"
)

type every struct {
	B    bool
	I    int
	I8   int8
	U    uint32
	F32  float32
	F64  float64
	S    string
	Raw  json.RawMessage
	L    []string
	N    []inner
	A    [3]byte
	AA   [2]inner
	M    map[string]inner
	P    *int
	PP   *inner
	T    time.Time
	None struct{}
	Tree *tree
}

type inner struct {
	X string
	Y []float32
}

type tree struct {
	Name string
	Subs []tree
}

func full() every {
	n := -5
	return every{B: true, I: math.MinInt64, I8: -128, U: math.MaxUint32, F32: 0.1, F64: math.Inf(-1), S: "caf\xe9 \x00",
		Raw: json.RawMessage(`{"a":1}`), L: []string{"", "x"}, N: []inner{{"a", []float32{1, float32(math.Pi)}}, {}},
		A: [3]byte{1, 2, 255}, AA: [2]inner{{X: "l"}, {X: "r"}}, M: map[string]inner{"k": {X: "v"}, "": {}},
		P: &n, PP: &inner{X: "p"}, T: time.Date(2026, 3, 14, 9, 26, 53, 589_793_238, time.UTC),
		Tree: &tree{"root", []tree{{Name: "leaf"}, {"branch", []tree{{Name: "end"}}}}}}
}

func again[T any](t testing.TB, in T) T {
	t.Helper()
	var out T
	if err := codec.Decode(codec.Append(nil, &in), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestValuesComeBackAsTheyWere(t *testing.T) {
	for name, in := range map[string]every{"zero": {}, "full": full(),
		"empty, not nil": {Raw: json.RawMessage{}, L: []string{}, N: []inner{{Y: []float32{}}}, M: map[string]inner{}, PP: &inner{}, Tree: &tree{Subs: []tree{}}}} {
		if diff := cmp.Diff(in, again(t, in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if f := again(t, math.NaN()); !math.IsNaN(f) {
		t.Errorf("NaN came back as %v", f)
	}
}

func TestTimesKeepTheInstantAndTheOffset(t *testing.T) {
	for _, in := range []time.Time{{}, time.Unix(0, 0), time.Unix(0, 0).UTC(), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(-1, 1, 1, 0, 0, 0, 1, time.UTC), time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", -5*3600-1800))} {
		out := again(t, in)
		_, was := in.Zone()
		if _, is := out.Zone(); !out.Equal(in) || is != was || out.IsZero() != in.IsZero() {
			t.Errorf("%v came back as %v", in, out)
		}
	}
	if got := again(t, time.Now().UTC()); got != got.Round(0) || got.Location() != time.UTC {
		t.Errorf("%#v", got)
	}
}

// TestTheLayersOwnTypesAreSupported checks that the main types that package remote sends are
// preserved. It fails if a new field has a type that is not supported.
func TestTheLayersOwnTypesAreSupported(t *testing.T) {
	code := 3
	c := ken.Claim{ID: "i", Text: "t", Body: json.RawMessage(`{}`), Tags: []string{}, Evidence: []ken.Evidence{{Kind: ken.EvidenceExitCode, ExitCode: &code}}, CreatedAt: time.Unix(1, 2).UTC()}
	for _, in := range []any{&c, &ken.Filter{Statuses: []ken.Status{}}, &ken.ClaimEvent{}, &ken.Transition{}, &store.Document{Chunks: []ken.Claim{c}},
		&store.Event{Payload: []byte{}}, &store.Row{}, &store.Result{Hits: []store.Hit{{Parts: []float32{1}}}}, &store.LogReport{}, &store.Glance{}} {
		out := reflect.New(reflect.TypeOf(in).Elem()).Interface()
		if err := codec.Decode(codec.Append(nil, in), out); err != nil {
			t.Errorf("%T: %v", in, err)
		}
		if diff := cmp.Diff(in, out); diff != "" {
			t.Errorf("%T (-want +got):\n%s", in, diff)
		}
	}
}

func TestWhatWasReadSharesNoMemoryWithTheBytes(t *testing.T) {
	in := full()
	b := codec.Append(nil, &in)
	var out every
	if err := codec.Decode(b, &out); err != nil {
		t.Fatal(err)
	}
	clear(b)
	if diff := cmp.Diff(in, out); diff != "" {
		t.Error(diff)
	}
}

func TestBrokenBytesAreAnError(t *testing.T) {
	in := full()
	b := codec.Append(nil, &in)
	for n := range b {
		if err := codec.Decode(b[:n], new(every)); err == nil {
			t.Fatalf("%d of %d bytes were enough", n, len(b))
		}
	}
	if err := codec.Decode(append(b, 0), new(every)); err == nil {
		t.Error("a byte too many was not noticed")
	}
	for name, tt := range map[string]struct {
		b []byte
		v any
	}{
		"a number too large":        {[]byte{0xff, 0xff, 0x03}, new(uint8)},
		"a number too small":        {[]byte{0xff, 0xff, 0x03}, new(int8)},
		"more elements than bytes":  {[]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2}, new([]string)},
		"more entries than bytes":   {[]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2}, new(map[string]string)},
		"a string beyond the end":   {[]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2}, new(string)},
		"bytes beyond the end":      {[]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2}, new([]byte)},
		"a varint without an end":   {[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, new(uint64)},
		"nanoseconds of a minute":   {[]byte{1, 0, 0x80, 0x94, 0xeb, 0xdc, 0x03}, new(time.Time)},
		"an unknown sort of time":   {[]byte{9}, new(time.Time)},
		"an offset of many days":    {[]byte{2, 0, 0, 0x80, 0x80, 0x80, 1}, new(time.Time)},
		"structs without an end":    {make([]byte, 0), new(tree)},
		"pointers into the bargain": {[]byte{1}, new(*int)},
	} {
		if err := codec.Decode(tt.b, tt.v); err == nil {
			t.Errorf("%s: read as %v", name, reflect.ValueOf(tt.v).Elem())
		}
	}
}

// TestDepthIsBounded checks that structs nested too deep are an error and don't overflow the
// stack.
func TestDepthIsBounded(t *testing.T) {
	var b []byte
	for range 10_000 {
		b = append(b, 0, 2) // no name, one sub
	}
	if err := codec.Decode(append(b, 0, 0), new(tree)); err == nil {
		t.Error("ten thousand levels were read")
	}
}

func TestASchemaTellsTypesApart(t *testing.T) {
	type a struct{ X, Y string }
	type renamed struct{ X, Z string }
	type swapped struct{ Y, X string }
	type more struct {
		X, Y string
		Z    int
	}
	type wider struct {
		X string
		Y []string
	}
	type same struct{ X, Y string }
	of := func(v any) string { return string(described(t, v)) }
	again := of(tree{})
	if of(a{}) != of(same{}) || of(tree{}) != again {
		t.Error("one form, two schemas")
	}
	for _, other := range []any{renamed{}, swapped{}, more{}, wider{}, &a{}, []a{}} {
		if of(other) == of(a{}) {
			t.Errorf("%T has the schema of %T", other, a{})
		}
	}
}

func TestUnsupportedTypesAreRefusedAtOnce(t *testing.T) {
	for _, v := range []any{&struct{ x int }{}, &struct{ X any }{}, new(chan int), new(func())} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%T was written", v)
				}
			}()
			codec.Append(nil, v)
		}()
	}
}

func FuzzDecode(f *testing.F) {
	in, c := full(), ken.Claim{Text: "t", Evidence: []ken.Evidence{{}}}
	f.Add(codec.Append(nil, &in))
	f.Add(codec.Append(nil, &c))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		var v every
		if codec.Decode(b, &v) == nil { // a decoded value can be encoded again and decodes to the same value
			var w every
			if err := codec.Decode(codec.Append(nil, &v), &w); err != nil {
				t.Fatal(err)
			}
			if x, y := codec.Append(nil, &v.N), codec.Append(nil, &w.N); string(x) != string(y) {
				t.Errorf("%x became %x", x, y)
			}
		}
		_ = codec.Decode(b, new(ken.Claim))
		_ = codec.Decode(b, new(store.Result))
	})
}

func BenchmarkClaim(b *testing.B) {
	c := ken.Claim{ID: "0198a000-0000-7000-8000-000000000001", Owner: "default", Kind: ken.KindFact, Text: "payments uses sagas, and the orchestrator keeps their state",
		Status: ken.StatusObserved, Confidence: 1, Importance: 0.5, CreatedAt: time.Unix(1, 2).UTC(), UpdatedAt: time.Unix(1, 2).UTC(), Evidence: []ken.Evidence{ken.FromFile("a.go", "sha256:00", "")}}
	raw := codec.Append(nil, &c)
	b.Run("Append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			raw = codec.Append(raw[:0], &c)
		}
	})
	b.Run("Decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var out ken.Claim
			if err := codec.Decode(raw, &out); err != nil {
				b.Fatal(err)
			}
		}
	})
}
