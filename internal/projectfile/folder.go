package projectfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// Folder is the project's folder. It is safe for concurrent use.
type Folder struct {
	root   *os.Root
	dir    string
	rename func(from, to string) error // root.Rename; tests replace it to simulate failures
}

// Open opens a folder.
func Open(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the project's folder: %w", err)
	}
	return &Folder{root: root, dir: dir, rename: root.Rename}, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// File is the content of a file with its hash.
type File struct {
	Bytes   []byte
	Hash    string    // hash of Bytes, see Hash
	ModTime time.Time // modification time, read before the content
}

// Hash returns the hash of a file's content in the form that evidence uses: "sha256:" and
// hex.
func Hash(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ErrTooLarge is returned by Read for a file beyond its limit.
var ErrTooLarge = errors.New("larger than the limit")

// Read reads a regular file of at most limit bytes. Errors: fs.ErrNotExist,
// ErrTooLarge, ken.ErrRefused for anything but a regular file, such as a link.
func (f *Folder) Read(name string, limit int64) (r File, err error) {
	before, err := f.lstat(name)
	if err != nil {
		return r, err
	}
	if !before.Mode().IsRegular() {
		return r, refused(name, "is no regular file")
	}
	file, err := f.root.Open(name)
	if err != nil {
		return r, err
	}
	defer file.Close() // nothing was written
	info, err := file.Stat()
	if err != nil {
		return r, err
	}
	if !os.SameFile(before, info) {
		return r, refused(name, "was exchanged while it was opened")
	}
	if info.Size() > limit {
		return r, fmt.Errorf("read %s: %d bytes: %w", name, info.Size(), ErrTooLarge)
	}
	var b bytes.Buffer
	b.Grow(int(info.Size()) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(file, limit+1))
	if err != nil {
		return r, fmt.Errorf("read %s: %w", name, err)
	}
	if n > limit {
		return r, fmt.Errorf("read %s: more than %d bytes: %w", name, limit, ErrTooLarge)
	}
	return File{Bytes: b.Bytes(), Hash: Hash(b.Bytes()), ModTime: info.ModTime().UTC()}, nil
}

// ReadFile reads a regular file of at most limit bytes, also through a link. A project's
// file may be a device or endless, so other files are refused. Errors: fs.ErrNotExist,
// ErrTooLarge, ken.ErrRefused for a file that is not regular.
func ReadFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, refused(path, "is no regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // nothing was written
	b, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(b)) > limit {
		return nil, fmt.Errorf("read %s: more than %d bytes: %w", path, limit, ErrTooLarge)
	}
	return b, err
}

// Entry is one file or folder of a listing.
type Entry struct {
	Name    string
	Folder  bool
	Link    bool // a symbolic link; it is not followed, so Size and ModTime are zero
	Size    int64
	ModTime time.Time
}

// List returns the regular files, folders and links in a folder, sorted by name. A missing
// folder is empty. Devices and temporary files of this package are left out.
func (f *Folder) List(name string) ([]Entry, error) {
	info, err := f.lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, refused(name, "is no folder")
	}
	found, err := fs.ReadDir(f.root.FS(), name)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", name, err)
	}
	out := make([]Entry, 0, len(found))
	for _, e := range found {
		if e.Type()&fs.ModeSymlink != 0 {
			out = append(out, Entry{Name: e.Name(), Link: true})
			continue
		}
		if !e.IsDir() && !e.Type().IsRegular() || strings.HasPrefix(e.Name(), staged) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // it was deleted meanwhile
		}
		out = append(out, Entry{Name: e.Name(), Folder: e.IsDir(), Size: info.Size(), ModTime: info.ModTime().UTC()})
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Stat describes a file or folder. Errors: fs.ErrNotExist, ken.ErrRefused for a link.
func (f *Folder) Stat(name string) (Entry, error) {
	info, err := f.lstat(name)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Name: path.Base(name), Folder: info.IsDir(), Size: info.Size(), ModTime: info.ModTime().UTC()}, nil
}

// lstat returns the info of a path. It refuses a path that contains a link.
func (f *Folder) lstat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, refused(name, "is no path within the project")
	}
	var info fs.FileInfo
	for at := 0; at <= len(name); at++ {
		if at < len(name) && name[at] != '/' {
			continue
		}
		var err error
		if info, err = f.root.Lstat(name[:at]); err != nil {
			return nil, err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return nil, refused(name[:at], "is a symbolic link")
		}
	}
	return info, nil
}

func refused(name, why string) error {
	return &ken.Error{Code: ken.CodeRefused, Field: name, Msg: why, Try: "Put the file itself there: links are not followed."}
}
