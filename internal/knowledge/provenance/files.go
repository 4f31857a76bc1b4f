package provenance

import (
	"errors"
	"io/fs"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/projectfile"
)

// maxCompared is the largest file that is compared, in bytes.
const maxCompared = 64 << 20

// files compares evidence with the files of a project, each file once.
type files struct {
	dir  *projectfile.Folder // nil compares nothing
	seen map[string]found
}

type found struct {
	hash  string
	state State // Stands: hash is known
}

func openFiles(root string) (*files, error) {
	f := &files{seen: map[string]found{}}
	if root == "" {
		return f, nil
	}
	var err error
	f.dir, err = projectfile.Open(root)
	return f, err
}

func (f *files) close() error {
	if f.dir == nil {
		return nil
	}
	return f.dir.Close()
}

// state says how a piece of evidence stands.
func (f *files) state(e ken.Evidence) State {
	if e.Kind != ken.EvidenceFile || e.ContentHash == "" || f.dir == nil {
		return Stands
	}
	is, ok := f.seen[e.Path]
	if !ok {
		is = f.look(e.Path)
		f.seen[e.Path] = is
	}
	if is.state == Stands && is.hash != e.ContentHash {
		return Changed
	}
	return is.state
}

func (f *files) look(name string) found {
	file, err := f.dir.Read(name, maxCompared)
	switch {
	case err == nil:
		return found{file.Hash, Stands}
	case errors.Is(err, fs.ErrNotExist):
		return found{state: Gone}
	}
	return found{state: Unread}
}

// stands is state as ken.Claim.Support asks. A file that can't be compared gets the
// benefit of the doubt, as one that was never indexed does.
func (f *files) stands(e ken.Evidence) bool {
	s := f.state(e)
	return s == Stands || s == Unread
}
