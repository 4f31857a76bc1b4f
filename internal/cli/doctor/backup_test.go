package doctor

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
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
