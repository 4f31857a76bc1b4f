package vector

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/seed"
)

func openFile(t testing.TB, path string, o FileOptions) *File {
	t.Helper()
	f, err := OpenFile(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// axis is the unit vector of four dimensions along the i-th.
func axis(i int) []float32 {
	v := make([]float32, 4)
	v[i%4] = 1
	return v
}

var small = FileOptions{Model: "test/model", Dim: 4}

// fill makes a file of n vectors and closes it.
func fill(t *testing.T, n int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "vectors")
	f := openFile(t, path, small)
	for i := range n {
		if err := f.Append(Record{hashOf(i), axis(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// contents opens the file and returns what it holds.
func contents(t *testing.T, path string) (map[Hash][]float32, openReport) {
	t.Helper()
	got := map[Hash][]float32{}
	o := small
	o.Each = func(h Hash, vec []float32) { got[h] = slices.Clone(vec) }
	f := openFile(t, path, o)
	defer f.Close()
	for h, want := range got {
		if vec, ok, err := f.Get(nil, h); err != nil || !ok || !slices.Equal(vec, want) {
			t.Fatalf("Get(%s) = %v, %v, %v; Each saw %v", h, vec, ok, err, want)
		}
	}
	if f.Len() != len(got) {
		t.Fatalf("Len is %d, Each saw %d", f.Len(), len(got))
	}
	return got, f.report
}

func TestFileKeepsVectors(t *testing.T) {
	path := fill(t, 10)
	f := openFile(t, path, small)
	// Known ones are skipped, also within one call.
	err := f.Append(Record{hashOf(3), axis(0)}, Record{hashOf(10), axis(2)}, Record{hashOf(10), axis(3)})
	if err != nil {
		t.Fatal(err)
	}
	if f.Has(hashOf(11)) || !f.Has(hashOf(10)) {
		t.Error("Has is wrong")
	}
	if _, ok, err := f.Get(nil, hashOf(11)); ok || err != nil {
		t.Errorf("an unknown hash: %v, %v", ok, err)
	}
	f.Close()
	got, report := contents(t, path)
	if d := cmp.Diff(openReport{Live: 11}, report); d != "" {
		t.Errorf("report (-want +got):\n%s", d)
	}
	for i := range 11 {
		if !slices.Equal(got[hashOf(i)], axis(i)) {
			t.Errorf("vector %d is %v", i, got[hashOf(i)])
		}
	}
}

func TestHeaderIsAsDocumented(t *testing.T) {
	b, err := os.ReadFile(fill(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	want := "KENVEC\r\n\x01\x00\x00\x00\x04\x00\x00\x00\x0a\x00\x00\x00test/model"
	if !strings.HasPrefix(string(b), want) {
		t.Errorf("header %q, want %q", b[:len(want)], want)
	}
	record := b[len(want)+4:]
	if hash := hashOf(0); string(record[:16]) != string(hash[:]) || len(record) != 36 {
		t.Errorf("record %q", record)
	}
	if got := string(record[20:]); got != "\x00\x00\x80\x3f"+strings.Repeat("\x00", 12) {
		t.Errorf("vector %q", got)
	}
}

func TestTornRecordIsCutOff(t *testing.T) {
	for _, torn := range []int64{1, 20, 35} {
		path := fill(t, 10)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, info.Size()-36+torn); err != nil {
			t.Fatal(err)
		}
		got, report := contents(t, path)
		if len(got) != 9 || report.TornBytes != torn {
			t.Errorf("%d vectors, report %+v", len(got), report)
		}
		f := openFile(t, path, small)
		if err := f.Append(Record{hashOf(20), axis(1)}); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if got, report := contents(t, path); len(got) != 10 || report != (openReport{Live: 10}) {
			t.Errorf("after the next append: %d vectors, report %+v", len(got), report)
		}
	}
}

func TestDamagedRecordIsDroppedAndReported(t *testing.T) {
	path := fill(t, 10)
	flip(t, path, -36*3+25)
	got, report := contents(t, path)
	if _, has := got[hashOf(7)]; has || len(got) != 9 {
		t.Errorf("%d vectors", len(got))
	}
	if d := cmp.Diff(openReport{Live: 9, Dropped: 1, Compacted: true}, report); d != "" {
		t.Errorf("report (-want +got):\n%s", d)
	}
	if _, report := contents(t, path); report != (openReport{Live: 9}) {
		t.Errorf("the second time: %+v", report)
	}
}

// flip changes a byte, counted from the end when at is negative.
func flip(t *testing.T, path string, at int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 0x40
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDamageAfterOpenIsNoticed(t *testing.T) {
	path := fill(t, 2)
	f := openFile(t, path, small)
	flip(t, path, -1)
	if _, _, err := f.Get(nil, hashOf(1)); !errors.Is(err, ken.ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
}

// A model change must neither mix vector spaces nor cost what was computed.
func TestForeignFileIsRefusedAndUntouched(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, path string)
		open  FileOptions
	}{
		"other model":     {open: FileOptions{Model: "test/other", Dim: 4}},
		"other dimension": {open: FileOptions{Model: "test/model", Dim: 8}},
		"not ours":        {func(t *testing.T, p string) { os.WriteFile(p, []byte("dear diary"), 0o600) }, small},
		"empty":           {func(t *testing.T, p string) { os.Truncate(p, 0) }, small},
		"header cut":      {func(t *testing.T, p string) { os.Truncate(p, 25) }, small},
		"header damaged":  {func(t *testing.T, p string) { flip(t, p, 12) }, small},
		"newer version":   {func(t *testing.T, p string) { flip(t, p, 8) }, small},
	} {
		t.Run(name, func(t *testing.T) {
			path := fill(t, 3)
			if c.spoil != nil {
				c.spoil(t, path)
			}
			before, _ := os.ReadFile(path)
			_, err := OpenFile(path, c.open)
			if !errors.Is(err, ken.ErrCorrupt) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want ErrCorrupt with the file's name", err)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

// Systems that only unlink a vector leave it on the disk.
func TestEraseOverwrites(t *testing.T) {
	path := fill(t, 10)
	f := openFile(t, path, small)
	hash := hashOf(4)
	if err := f.Erase(hash, hashOf(77)); err != nil {
		t.Fatal(err)
	}
	if f.Has(hash) || f.Len() != 9 {
		t.Error("the file still has it")
	}
	b, err := os.ReadFile(path) // before Close: Erase itself must have done it
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), string(hash[:])) {
		t.Error("the hash is still in the file")
	}
	if zero := string(b[len(b)-6*36+20 : len(b)-5*36]); zero != strings.Repeat("\x00", 16) {
		t.Errorf("the vector's place holds %q", zero)
	}
	f.Close()
	if got, report := contents(t, path); len(got) != 9 || report != (openReport{Live: 9, Dead: 1}) {
		t.Errorf("%d vectors, report %+v", len(got), report)
	}
}

func TestFileCompactsWhenMostlyDead(t *testing.T) {
	path := fill(t, 10)
	before, _ := os.Stat(path)
	f := openFile(t, path, small)
	for i := range 6 {
		if err := f.Erase(hashOf(i)); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	if got, report := contents(t, path); len(got) != 4 || report != (openReport{Live: 4, Dead: 6, Compacted: true}) {
		t.Errorf("%d vectors, report %+v", len(got), report)
	}
	if after, _ := os.Stat(path); before.Size()-after.Size() != 6*36 {
		t.Errorf("%d bytes before, %d after", before.Size(), after.Size())
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
		t.Errorf("files left behind: %v", left)
	}
}

func TestAppendRefusesWhatIsNoVector(t *testing.T) {
	nan := axis(0)
	nan[1] = float32(math.NaN())
	for name, r := range map[string]Record{
		"no hash":         {Vec: axis(0)},
		"wrong dimension": {hashOf(1), []float32{1}},
		"NaN":             {hashOf(1), nan},
		"infinite":        {hashOf(1), []float32{float32(math.Inf(1)), 0, 0, 0}},
		"zero":            {hashOf(1), make([]float32, 4)},
		"empty":           {hashOf(1), []float32{}},
		"long":            {hashOf(1), []float32{1, 1, 0, 0}},
	} {
		f := openFile(t, filepath.Join(t.TempDir(), "v"), small)
		if err := f.Append(Record{hashOf(0), axis(0)}, r); !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
		if f.Len() != 0 {
			t.Errorf("%s: the sound record was written", name)
		}
	}
}

// A content for which the model has no vector is known again, and can be erased.
func TestFileKnowsWhatHasNoVector(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v")
	f := openFile(t, path, small)
	if err := f.Append(Record{hashOf(0), nil}, Record{hashOf(1), axis(1)}, Record{Hash: hashOf(2)}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got, _ := contents(t, path)
	if vec, ok := got[hashOf(0)]; !ok || vec != nil || got[hashOf(1)] == nil || len(got) != 3 {
		t.Errorf("read %v", got)
	}
	f = openFile(t, path, small)
	if err := f.Erase(hashOf(0)); err != nil || f.Has(hashOf(0)) || !f.Has(hashOf(2)) {
		t.Errorf("after erasing one: %v, %v", err, f.Hashes())
	}
}

func TestFileAgreesWithAMap(t *testing.T) {
	number := seed.Of(t)
	r := rand.New(rand.NewPCG(number, 0))
	path := filepath.Join(t.TempDir(), "v")
	want := map[Hash][]float32{}
	f := openFile(t, path, small)
	for range 2000 {
		i := r.IntN(100)
		switch r.IntN(20) {
		case 0:
			f.Close()
			got, _ := contents(t, path)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("after reopening (-want +got):\n%s", d)
			}
			f = openFile(t, path, small)
		case 1, 2, 3, 4, 5, 6, 7, 8, 9:
			if err := f.Erase(hashOf(i)); err != nil {
				t.Fatal(err)
			}
			delete(want, hashOf(i))
		default:
			if err := f.Append(Record{hashOf(i), axis(i)}); err != nil {
				t.Fatal(err)
			}
			want[hashOf(i)] = axis(i)
		}
		if vec, ok, err := f.Get(nil, hashOf(i)); err != nil || ok != (want[hashOf(i)] != nil) || ok && !slices.Equal(vec, want[hashOf(i)]) {
			t.Fatalf("Get: %v, %v, %v; want %v", vec, ok, err, want[hashOf(i)])
		}
	}
}

func TestFileTakesConcurrentCallers(t *testing.T) {
	f := openFile(t, filepath.Join(t.TempDir(), "v"), small)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				h := hashOf(i*4 + g)
				if err := f.Append(Record{h, axis(g)}); err != nil {
					t.Error(err)
				}
				if vec, ok, err := f.Get(nil, h); err != nil || !ok || !slices.Equal(vec, axis(g)) {
					t.Errorf("Get: %v, %v, %v", vec, ok, err)
				}
				if i%3 == 0 {
					if err := f.Erase(h); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if f.Len() != 4*(200-67) {
		t.Errorf("%d vectors", f.Len())
	}
}

// Whatever is in a file, opening it returns, and a refused file is not changed.
func FuzzOpenFile(f *testing.F) {
	head := header{model: "test/model", dim: 4}
	sound := head.appendRecord(head.encode(), hashOf(1), axis(1))
	f.Add(sound)
	f.Add(sound[:len(sound)-3])
	f.Add(head.appendRecord(sound, Hash{}, nil))
	f.Add(append(sound, sound[head.size():]...))
	f.Add([]byte("KENVEC\r\n\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "v")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := OpenFile(path, small)
		if err != nil {
			if after, _ := os.ReadFile(path); string(after) != string(b) {
				t.Fatalf("refused (%v) and changed", err)
			}
			return
		}
		n := file.Len()
		file.Close()
		got, report := contents(t, path)
		if len(got) != n || report.Dropped != 0 || report.TornBytes != 0 {
			t.Fatalf("opened with %d vectors, then with %d, %+v", n, len(got), report)
		}
	})
}

// A file that can't be created is an error, and leaves nothing behind.
func TestFileThatCannotBeCreated(t *testing.T) {
	if f, err := OpenFile(filepath.Join(t.TempDir(), "none", "vectors"), FileOptions{Model: "m", Dim: 3}); err == nil {
		t.Errorf("created in a folder that is not there: %v", f.Close())
	}
}
