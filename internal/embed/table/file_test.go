package table_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/embed/table"
)

func file(t testing.TB, m *table.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if n, err := m.WriteTo(&b); err != nil || n != int64(m.Size()) || b.Len() != m.Size() {
		t.Fatalf("wrote %d of %d bytes, error %v", n, m.Size(), err)
	}
	return b.Bytes()
}

func TestFileRoundTrip(t *testing.T) {
	m := model(t, 16)
	data := file(t, m)
	if !bytes.Equal(data, file(t, model(t, 16))) {
		t.Error("the same rows gave other bytes")
	}
	path := filepath.Join(t.TempDir(), "model.ken")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := table.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if read.Model() != m.Model() || !strings.HasPrefix(m.Model(), "ken:") || read.Info() != m.Info() || read.Dim() != 16 {
		t.Errorf("%q, %+v, %d dimensions; want %q, %+v, 16", read.Model(), read.Info(), read.Dim(), m.Model(), m.Info())
	}
	if diff := cmp.Diff(m.EmbedQuery("the cat", nil), read.EmbedQuery("the cat", nil)); diff != "" {
		t.Errorf("the vector changed (-written +read):\n%s", diff)
	}
	if other := model(t, 8); other.Model() == m.Model() {
		t.Error("two tables have one name")
	}
}

// TestFileFormat holds the format of version 1 still.
func TestFileFormat(t *testing.T) {
	m, err := table.New([]string{"a", "bé"}, []float32{127, -127, 1, 0, 0, 0, 0, 63.5}, 4, table.Info{Licence: "x"})
	if err != nil {
		t.Fatal(err)
	}
	want := "KENTABLE" + "\x01\x00\x00\x00" + "\x04\x00\x00\x00" + "\x02\x00\x00\x00" + "\x0f\x00\x00\x00" + "\x04\x00\x00\x00"
	data := file(t, m)
	if got := string(data[:28]); got != want {
		t.Errorf("header %q, want %q", got, want)
	}
	want = `{"licence":"x"}` + "\x01\x03" + "abé" + "\x00\x00\x80\x3f" + "\x00\x00\x00\x3f" + "\x7f\x81\x01\x00" + "\x00\x00\x00\x7f"
	if got := string(data[40:]); got != want {
		t.Errorf("body %q, want %q", got, want)
	}
}

// seal makes a changed file's checksum right again.
func seal(data []byte) []byte {
	binary.LittleEndian.PutUint32(data[28:], crc32.Checksum(data[32:], crc32.MakeTable(crc32.Castagnoli)))
	return data
}

func TestOpenRefuses(t *testing.T) {
	whole := file(t, model(t, 8))
	change := func(at int, b ...byte) []byte {
		d := bytes.Clone(whole)
		copy(d[at:], b)
		return d
	}
	scale := len(whole) - len(tokens())*12
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":           {nil, "does not start"},
		"another file":      {[]byte(strings.Repeat("x", 100)), "does not start"},
		"a later version":   {seal(change(8, 9)), "version 9"},
		"no dimensions":     {seal(change(12, 0)), "impossible"},
		"many tokens":       {seal(change(19, 0xff)), "impossible"},
		"cut off":           {whole[:len(whole)-1], "instead of"},
		"longer":            {append(bytes.Clone(whole), 0), "instead of"},
		"a flipped bit":     {change(len(whole)-1, whole[len(whole)-1]^1), "checksum"},
		"bad information":   {seal(change(40, '[')), "information"},
		"a scale of NaN":    {seal(change(scale, 0, 0, 0xc0, 0x7f)), "scale"},
		"a negative scale":  {seal(change(scale, 0, 0, 0x80, 0xbf)), "scale"},
		"tokens of nothing": {seal(change(40+len(`{"about":"a test"}`), 0)), "token 0"},
	} {
		_, err := table.Open(tt.data)
		var kenErr *ken.Error
		if !errors.Is(err, ken.ErrCorrupt) || !errors.As(err, &kenErr) || kenErr.Try == "" || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want corrupt with %q", name, err, tt.want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := table.Read(filepath.Join(dir, "none")); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := table.Read(dir); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("a folder: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		tokens []string
		rows   []float32
		dim    int
	}{
		"too few numbers": {[]string{"a"}, []float32{1}, 2},
		"no dimensions":   {[]string{"a"}, nil, 0},
		"NaN":             {[]string{"a"}, []float32{float32(math.NaN())}, 1},
		"infinite":        {[]string{"a"}, []float32{float32(math.Inf(1))}, 1},
		"no tokens":       {nil, nil, 4},
	} {
		if _, err := table.New(tt.tokens, tt.rows, tt.dim, table.Info{}); !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("%s: error %v, want invalid", name, err)
		}
	}
}

// FuzzOpen must refuse or give a model that works, whatever the bytes.
func FuzzOpen(f *testing.F) {
	whole := file(f, model(f, 4))
	f.Add(whole)
	f.Add(whole[:50])
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 32 {
			data = seal(bytes.Clone(data))
		}
		m, err := table.Open(data)
		if err != nil {
			if !errors.Is(err, ken.ErrCorrupt) {
				t.Fatalf("error %v, want corrupt", err)
			}
			return
		}
		v, err := m.Embed(t.Context(), []string{"the cat sat in new york", "日本"})
		if err != nil {
			t.Fatal(err)
		}
		if err := embed.Check(v, 2, m.Dim()); err != nil {
			t.Fatal(err)
		}
		m.Coverage("the keymaster")
	})
}
