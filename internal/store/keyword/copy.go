package keyword

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/kenlayer/ken/internal/caught"
)

// CopyTo copies the index into a folder that is empty, while it is in use. The newest documents,
// which wait in memory, are left out: the copy's watermark is before them.
func (x *Index) CopyTo(dir string) error {
	engine, done, err := x.use()
	if err != nil {
		return err
	}
	defer done()
	return caught.Run(func() error { // also where the engine has no snapshot yet
		r := engine.CopyReader()
		return errors.Join(r.CopyTo(copyDir(dir)), r.CloseCopyReader())
	})
}

// copyDir is where the engine puts a copy.
type copyDir string

// GetWriter makes a file of the copy. The engine names it below a folder of its own.
func (d copyDir) GetWriter(path string) (io.WriteCloser, error) {
	return os.OpenFile(filepath.Join(string(d), filepath.Base(path)), os.O_CREATE|os.O_RDWR, 0o600)
}
