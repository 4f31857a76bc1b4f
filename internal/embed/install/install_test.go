package install

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken"
)

// small returns a model of two files, and their contents.
func small() (m *Model, content map[string][]byte) {
	content = map[string][]byte{"config.json": []byte(`{"a": 1}`), "1_Pooling/model.bin": bytes.Repeat([]byte("0123456789abcdef"), 20_000)}
	m = &Model{Name: "small", Repository: "someone/small", Revision: "r1"}
	for _, path := range []string{"config.json", "1_Pooling/model.bin"} {
		sum := sha256.Sum256(content[path])
		m.Files = append(m.Files, File{path, int64(len(content[path])), hex.EncodeToString(sum[:])})
	}
	return m, content
}

// hub serves files, and counts and notes what it is asked for.
type hub struct {
	*httptest.Server
	bytes  atomic.Int64
	mu     sync.Mutex
	ranges []string
	// cut ends an answer after so many bytes; 0 never.
	cut atomic.Int64
}

func newHub(t *testing.T, content map[string][]byte) *hub {
	h := &hub{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, ok := content[strings.TrimPrefix(r.URL.Path, "/someone/small/resolve/r1/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		h.mu.Lock()
		if s := r.Header.Get("Range"); s != "" {
			h.ranges = append(h.ranges, s)
		}
		h.mu.Unlock()
		var to http.ResponseWriter = counted{w, &h.bytes}
		if n := h.cut.Load(); n > 0 && int64(len(b)) > n {
			to = &cutting{to, n}
		}
		http.ServeContent(to, r, "", time.Time{}, bytes.NewReader(b))
	}))
	t.Cleanup(h.Close)
	return h
}

type counted struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}

// cutting drops the connection after left bytes.
type cutting struct {
	http.ResponseWriter
	left int64
}

func (c *cutting) Write(p []byte) (int, error) {
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.ResponseWriter.Write(p)
	if c.left -= int64(n); err == nil && c.left == 0 {
		c.ResponseWriter.(counted).ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// at once is Options.wait without waiting.
func atOnce(context.Context, time.Duration) bool { return true }

// never is Options.wait that gives up.
func never(context.Context, time.Duration) bool { return false }

// check fails the test unless the model is there as it should be, and nothing else.
func check(t *testing.T, m *Model, dir string, content map[string][]byte) {
	t.Helper()
	path, ok := m.Path(dir)
	if !ok {
		t.Fatal("the model is not whole")
	}
	for name, want := range content {
		if got, err := os.ReadFile(filepath.Join(path, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "small" && e.Name() != ".small.lock" {
			t.Errorf("%s is left over", e.Name())
		}
	}
}

func TestInstall(t *testing.T) {
	m, content := small()
	h, dir := newHub(t, content), filepath.Join(t.TempDir(), "new", "embedders")
	var last, total int64
	got, err := m.Install(t.Context(), Options{Dir: dir, Hub: h.URL, Progress: func(d, n int64) { last, total = d, n }})
	if err != nil || got.Present || got.Bytes != m.Bytes() || got.Path != filepath.Join(dir, "small") || last != m.Bytes() || total != last {
		t.Fatalf("%+v, %v, progress %d of %d", got, err, last, total)
	}
	check(t, m, dir, content)
	h.Close() // the second time nothing is asked for
	if got, err = m.Install(t.Context(), Options{Dir: dir, Hub: h.URL}); err != nil || !got.Present {
		t.Errorf("the second time: %+v, %v", got, err)
	}
}

func TestInstallRepairsATruncatedFolder(t *testing.T) {
	m, content := small()
	h, dir := newHub(t, content), t.TempDir()
	for name, damage := range map[string]func(path string) error{
		"truncated": func(path string) error { return os.Truncate(filepath.Join(path, "1_Pooling/model.bin"), 7) },
		"missing":   func(path string) error { return os.Remove(filepath.Join(path, "config.json")) },
		"changed": func(path string) error {
			return os.WriteFile(filepath.Join(path, "config.json"), []byte(`{"a": 2}`), 0o600)
		},
	} {
		if _, err := m.Install(t.Context(), Options{Dir: dir, Hub: h.URL}); err != nil {
			t.Fatal(err)
		}
		if err := damage(filepath.Join(dir, "small")); err != nil {
			t.Fatal(err)
		}
		if _, ok := m.Path(dir); ok != (name == "changed") {
			t.Errorf("%s: whole is %v", name, ok)
		}
		if got, err := m.Install(t.Context(), Options{Dir: dir, Hub: h.URL}); err != nil || got.Present {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		check(t, m, dir, content)
	}
}

func TestInstallGoesOnAfterAnInterruption(t *testing.T) {
	m, content := small()
	h, dir := newHub(t, content), t.TempDir()
	h.cut.Store(100_000)
	_, err := m.Install(t.Context(), Options{Dir: dir, Hub: h.URL, wait: never})
	if !errors.Is(err, ken.ErrUnavailable) || !strings.Contains(ken.Hint(err), "continues this one") {
		t.Fatalf("%v, try %q", err, ken.Hint(err))
	}
	if _, ok := m.Path(dir); ok {
		t.Fatal("half a model is visible")
	}
	h.cut.Store(0)
	h.bytes.Store(0)
	if _, err := m.Install(t.Context(), Options{Dir: dir, Hub: h.URL, wait: never}); err != nil {
		t.Fatal(err)
	}
	check(t, m, dir, content)
	if got := h.bytes.Load(); got > m.Bytes()-90_000 || len(h.ranges) != 1 {
		t.Errorf("the second call got %d of %d bytes, with ranges %v", got, m.Bytes(), h.ranges)
	}
	dir = t.TempDir()
	h.cut.Store(100_000) // each attempt brings as much: the fourth is the last
	if _, err := m.Install(t.Context(), Options{Dir: dir, Hub: h.URL, wait: atOnce}); err != nil {
		t.Errorf("one call with retries: %v", err)
	}
	check(t, m, dir, content)
}

func TestInstallStopsWithItsContext(t *testing.T) {
	m, content := small()
	h, dir := newHub(t, content), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := m.Install(ctx, Options{Dir: dir, Hub: h.URL, Progress: func(done, _ int64) {
		if done > 1000 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := m.Install(t.Context(), Options{Dir: dir, Hub: h.URL}); err != nil {
		t.Fatal(err)
	}
	check(t, m, dir, content)
}

func TestInstallRefusesAnotherFile(t *testing.T) {
	m, content := small()
	content["1_Pooling/model.bin"][5] = 'X' // of the same size
	h, dir := newHub(t, content), t.TempDir()
	_, err := m.Install(t.Context(), Options{Dir: dir, Hub: h.URL})
	if !errors.Is(err, ken.ErrCorrupt) || !strings.Contains(err.Error(), m.Files[1].SHA256) || !strings.Contains(ken.Hint(err), "--mirror") {
		t.Fatalf("%v, try %q", err, ken.Hint(err))
	}
	if _, ok := m.Path(dir); ok {
		t.Fatal("a wrong file was installed")
	}
	content["1_Pooling/model.bin"][5] = '5' // the hub works again
	if _, err := m.Install(t.Context(), Options{Dir: dir, Hub: h.URL}); err != nil {
		t.Fatal(err)
	}
	check(t, m, dir, content)
}

func TestInstallSaysWhatFailed(t *testing.T) {
	m, content := small()
	dir := t.TempDir()
	answer := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	longer := newHub(t, map[string][]byte{"config.json": append(content["config.json"], "more"...)})
	for name, tt := range map[string]struct{ hub, says string }{
		"no address":    {"ftp://x", "not an address"},
		"nobody there":  {"http://127.0.0.1:1", "refused"},
		"not found":     {answer(404), "404"},
		"down":          {answer(503), "503"},
		"another size":  {longer.URL, "12 bytes there instead of 8"},
		"a web page":    {answer(200), "0 bytes there instead of 8"},
		"not permitted": {answer(403), "403"},
	} {
		_, err := m.Install(t.Context(), Options{Dir: dir, Hub: tt.hub, wait: never})
		if err == nil || !strings.Contains(err.Error(), tt.says) || ken.Hint(err) == "" {
			t.Errorf("%s: %v, try %q", name, err, ken.Hint(err))
		}
	}
}

func TestInstallOnAFullDisk(t *testing.T) {
	m, content := small()
	h, dir := newHub(t, content), t.TempDir()
	from := filepath.Join(t.TempDir(), "copy")
	write(t, from, content)
	for _, o := range []Options{{Hub: h.URL}, {From: from}} {
		o.Dir, o.writer = dir, func(f *os.File) io.Writer { return &full{f, 50_000} }
		_, err := m.Install(t.Context(), o)
		if !errors.Is(err, ken.ErrUnavailable) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(ken.Hint(err), "Make room") {
			t.Fatalf("%v, try %q", err, ken.Hint(err))
		}
		if _, ok := m.Path(dir); ok {
			t.Fatal("half a model is visible")
		}
	}
	if _, err := m.Install(t.Context(), Options{Dir: dir, Hub: h.URL}); err != nil {
		t.Fatal(err)
	}
	check(t, m, dir, content)
}

// full is a disk with room for left bytes.
type full struct {
	w    io.Writer
	left int
}

func (f *full) Write(p []byte) (int, error) {
	if len(p) <= f.left {
		f.left -= len(p)
		return f.w.Write(p)
	}
	n, _ := f.w.Write(p[:f.left])
	f.left = 0
	return n, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
}

func write(t *testing.T, dir string, content map[string][]byte) {
	t.Helper()
	for name, b := range content {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInstallFromAFolder(t *testing.T) {
	m, content := small()
	from, dir := t.TempDir(), t.TempDir()
	for name, damage := range map[string]func() error{
		"is no whole copy":         func() error { return os.Remove(filepath.Join(from, "config.json")) },
		"8 bytes instead of":       func() error { return os.Truncate(filepath.Join(from, "1_Pooling/model.bin"), 8) },
		"this is not the file":     func() error { return os.WriteFile(filepath.Join(from, "config.json"), []byte(`{"a": 2}`), 0o600) },
		"config.json has 0 bytes ": func() error { return os.Truncate(filepath.Join(from, "config.json"), 0) },
	} {
		write(t, from, content)
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Install(t.Context(), Options{Dir: dir, From: from}); err == nil || !strings.Contains(fmt.Sprint(err), name) || ken.Hint(err) == "" {
			t.Errorf("%s: %v, try %q", name, err, ken.Hint(err))
		}
		if _, ok := m.Path(dir); ok {
			t.Fatal("it was installed")
		}
		if err := os.RemoveAll(filepath.Join(dir, ".small.part")); err != nil {
			t.Fatal(err)
		}
	}
	write(t, from, content)
	if _, err := m.Install(t.Context(), Options{Dir: dir, From: from}); err != nil {
		t.Fatal(err)
	}
	check(t, m, dir, content)
}

// Several at once end with one good folder, and one of them downloads it.
func TestInstallAtOnce(t *testing.T) {
	m, content := small()
	h, dir := newHub(t, content), t.TempDir()
	var wg sync.WaitGroup
	var installed atomic.Int32
	for range 4 {
		wg.Go(func() {
			got, err := m.Install(t.Context(), Options{Dir: dir, Hub: h.URL})
			if err != nil {
				t.Error(err)
			}
			if !got.Present {
				installed.Add(1)
			}
		})
	}
	wg.Wait()
	check(t, m, dir, content)
	if installed.Load() != 1 || h.bytes.Load() != m.Bytes() {
		t.Errorf("%d installed, %d bytes for a model of %d", installed.Load(), h.bytes.Load(), m.Bytes())
	}
}

func TestModels(t *testing.T) {
	for _, m := range Models() {
		got, err := Find(strings.ToUpper(m.Name))
		if err != nil || got.Name != m.Name || m.Bytes() < 1 || m.Revision == "" || m.Licence == "" || m.About == "" {
			t.Errorf("%+v, %v", got, err)
		}
		for _, f := range m.Files {
			if b, err := hex.DecodeString(f.SHA256); err != nil || len(b) != sha256.Size || f.Size <= 0 || !filepath.IsLocal(f.Path) {
				t.Errorf("%s: %+v", m.Name, f)
			}
		}
	}
	if _, err := Find("gpt-2"); !errors.Is(err, ken.ErrInvalid) || !strings.Contains(ken.Hint(err), "all-MiniLM-L6-v2") {
		t.Errorf("%v", err)
	}
}
