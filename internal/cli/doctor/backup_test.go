package doctor

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/middleware"
)

// An archive may be anybody's: what it names outside of an owner's folder, or as anything but
// a file, is refused, and nothing of it is left.
func TestArchivesOfOthers(t *testing.T) {
	for name, head := range map[string]tar.Header{
		"a path out":         {Name: "owners/../../evil", Typeflag: tar.TypeReg},
		"an absolute path":   {Name: "/tmp/evil", Typeflag: tar.TypeReg},
		"a path that winds":  {Name: "owners/ada/../../evil", Typeflag: tar.TypeReg},
		"a link":             {Name: "owners/ada/ken.db", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		"a hard link":        {Name: "owners/ada/ken.db", Typeflag: tar.TypeLink, Linkname: "../../evil"},
		"a folder":           {Name: "owners/ada", Typeflag: tar.TypeDir},
		"another folder":     {Name: "elsewhere/ada/ken.db", Typeflag: tar.TypeReg},
		"a file as an owner": {Name: "owners/ada", Typeflag: tar.TypeReg},
		"backslashes":        {Name: `owners\..\..\evil`, Typeflag: tar.TypeReg},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			zip := gzip.NewWriter(&b)
			archive := tar.NewWriter(zip)
			m, err := json.Marshal(manifest{Format: backupFormat, Layout: bolt.Layout, Owners: []string{"ada"}})
			if err == nil {
				err = add(archive, manifestName, bytes.NewReader(m), int64(len(m)), head.ModTime)
			}
			if err = errors.Join(err, archive.WriteHeader(&head), archive.Close(), zip.Close()); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			file, state := filepath.Join(dir, "b.tar.gz"), filepath.Join(dir, "project", "state")
			if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := unpack(t.Context(), file, state, func(manifest) error { return nil }); !errors.Is(err, ken.ErrCorrupt) {
				t.Errorf("it says %v", err)
			}
			left, err := os.ReadDir(state)
			if err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
			if _, err := os.Lstat(filepath.Join(dir, "evil")); err == nil {
				t.Error("it led out of the folder")
			}
		})
	}
}

// written returns an archive of one owner with files, by their names in the archive.
func written(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	archive := tar.NewWriter(zip)
	m, err := json.Marshal(manifest{Format: backupFormat, Layout: bolt.Layout, Owners: []string{"ada"}})
	if err == nil {
		err = add(archive, manifestName, bytes.NewReader(m), int64(len(m)), time.Time{})
	}
	for _, name := range files {
		data := bytes.Repeat([]byte(name), 100)
		if filepath.Base(name) == "ken.db" {
			s, open := bolt.Open(t.Context(), filepath.Join(t.TempDir(), "ada"), bolt.Options{Owner: "ada"})
			if open != nil {
				t.Fatal(open)
			}
			copied := t.TempDir()
			if err := errors.Join(s.CopyTo(t.Context(), copied), s.Close()); err != nil {
				t.Fatal(err)
			}
			data, err = os.ReadFile(filepath.Join(copied, "ken.db"))
		}
		err = errors.Join(err, add(archive, name, bytes.NewReader(data), int64(len(data)), time.Time{}))
	}
	if err = errors.Join(err, archive.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func restored(t *testing.T, archive []byte) (state string, err error) {
	t.Helper()
	dir := t.TempDir()
	file, state := filepath.Join(dir, "b.tar.gz"), filepath.Join(dir, "state")
	if err := os.WriteFile(file, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = unpack(t.Context(), file, state, func(manifest) error { return nil })
	return state, err
}

// An archive in which one bit changed, or that lacks its last bytes, is refused, and nothing of it is left.
func TestDamagedArchives(t *testing.T) {
	good := written(t, "owners/ada/ken.db", "owners/ada/vectors/a.vec", "files/.gateway/keys.json")
	if state, err := restored(t, good); err != nil {
		t.Fatalf("the good archive: %v", err)
	} else if _, err := os.Stat(filepath.Join(state, "ada", "ken.db")); err != nil {
		t.Fatal(err)
	}
	refused := func(how string, archive []byte) {
		zip, err := gzip.NewReader(bytes.NewReader(archive))
		if err == nil {
			_, err = io.Copy(io.Discard, zip)
		}
		if err == nil { // some bits mean the same either way
			return
		}
		state, err := restored(t, archive)
		if !errors.Is(err, ken.ErrCorrupt) && !errors.Is(err, ken.ErrRefused) {
			t.Errorf("%s: %v", how, err)
		}
		if left, _ := os.ReadDir(state); len(left) > 0 {
			t.Errorf("%s: left %v", how, left)
		}
	}
	for at := 10; at < len(good); at += len(good) / 40 { // the first 10 bytes hold a time and the name of a system, too
		bad := bytes.Clone(good)
		bad[at] ^= 4
		refused(fmt.Sprint("byte ", at), bad)
	}
	for n := 1; n < 12; n++ {
		refused(fmt.Sprintf("%d bytes short", n), good[:len(good)-n])
	}
}

// An archive that can't be written to the disk is not said to be damaged.
func TestAnArchiveThatFindsNoPlace(t *testing.T) {
	_, err := restored(t, written(t, "owners/ada/vectors", "owners/ada/vectors/a.vec"))
	if !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "" {
		t.Errorf("it says %v", err)
	}
}

// writer calls a function with each write.
type writer func()

func (w writer) Write(b []byte) (int, error) { w(); return len(b), nil }

// A backup into a file into which another one begins to write ends with an error. It puts no half of the other's
// archive in the place of the previous one, and takes nothing away from it.
func TestTwoBackupsIntoOneFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the other backup can remove no open file")
	}
	cfg := config.Default()
	l, err := middleware.Open(t.Context(), middleware.Options{Root: t.TempDir(), Config: &cfg, Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	a := &commands{App: &cli.App{}}
	a.Err = writer(func() {
		if err := errors.Join(os.Remove(file+".part"), os.WriteFile(file+".part", []byte("the other one"), 0o600)); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(file, []byte("the previous one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := a.backup(t.Context(), l, a.Progress(), file); !errors.Is(err, ken.ErrHeld) {
		t.Errorf("it says %v", err)
	}
	have, err := os.ReadFile(file)
	other, err2 := os.ReadFile(file + ".part")
	if err := errors.Join(err, err2); err != nil || string(have) != "the previous one" || string(other) != "the other one" {
		t.Errorf("%q and %q, %v", have, other, err)
	}
}
