package projectfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/kenlayer/ken"
)

// Change is a change of one file.
type Change struct {
	Path string
	Was  []byte // content that the caller has read; nil for a file that does not exist
	Now  []byte // new content; nil removes the file
}

// staged is the prefix of temporary files that replace others.
const staged = ".ken-staged-"

var counter atomic.Uint64

// Commit makes the changes in order, all of them or none: if one fails, those before
// it are undone. Folders are created. An existing file keeps its permissions. Errors:
// ken.ErrExists for a new file that exists, ken.ErrUnavailable for a file that was
// changed since the caller read it, ken.ErrRefused for a link, ken.ErrInternal for
// changes that could be neither completed nor undone, which names the files.
func (f *Folder) Commit(changes ...Change) (err error) {
	steps := make([]step, len(changes))
	defer func() {
		for _, s := range steps {
			if s.temp != "" {
				_ = f.root.Remove(s.temp) // most have been renamed
			}
		}
	}()
	for i, c := range changes {
		if steps[i], err = f.stage(c); err != nil {
			return denied(c.Path, err)
		}
	}
	for i := range steps {
		if err := f.apply(&steps[i]); err != nil {
			return errors.Join(fmt.Errorf("write %s: %w", steps[i].Path, denied(steps[i].Path, err)), f.undo(steps[:i]))
		}
	}
	return nil
}

// step is a change whose new content is in a temporary file.
type step struct {
	Change
	temp string
	mode fs.FileMode
}

// stage checks that a file is unchanged since the caller read it, and writes the new
// content to a temporary file beside it.
func (f *Folder) stage(c Change) (step, error) {
	s := step{Change: c, mode: 0o644}
	info, err := f.lstat(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.Was == nil:
		if err := f.folder(path.Dir(c.Path)); err != nil {
			return s, err
		}
	case errors.Is(err, fs.ErrNotExist):
		return s, changed(c.Path)
	case err != nil:
		return s, err
	case c.Was == nil:
		return s, exists(c.Path)
	default:
		got, err := f.Read(c.Path, int64(len(c.Was)))
		if errors.Is(err, ErrTooLarge) || err == nil && !bytes.Equal(got.Bytes, c.Was) {
			return s, changed(c.Path)
		}
		if err != nil {
			return s, err
		}
		s.mode = info.Mode().Perm()
	}
	if c.Now == nil {
		return s, nil
	}
	s.temp, err = f.write(path.Dir(c.Path), c.Now, s.mode)
	return s, err
}

// folder creates a folder and its parents, unless one of them is a link.
func (f *Folder) folder(name string) error {
	for at := 0; at <= len(name); at++ {
		if at < len(name) && name[at] != '/' {
			continue
		}
		info, err := f.lstat(name[:at])
		if errors.Is(err, fs.ErrNotExist) {
			if err = f.root.Mkdir(name[:at], 0o755); err == nil || errors.Is(err, fs.ErrExist) {
				continue
			}
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return refused(name[:at], "is no folder")
		}
	}
	return nil
}

// write writes a temporary file with a unique name, and returns the name.
func (f *Folder) write(dir string, content []byte, mode fs.FileMode) (name string, err error) {
	var file *os.File
	for {
		name = path.Join(dir, staged+strconv.Itoa(os.Getpid())+"-"+strconv.FormatUint(counter.Add(1), 10))
		file, err = f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) { // otherwise it was left by a process with the same id
			break
		}
	}
	if err != nil {
		return "", fmt.Errorf("write into %s: %w", dir, err)
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = f.root.Remove(name)
		return "", fmt.Errorf("write into %s: %w", dir, err)
	}
	return name, nil
}

// apply carries out a step.
func (f *Folder) apply(s *step) error {
	var err error
	switch {
	case s.Now == nil:
		err = f.root.Remove(s.Path)
	case s.Was == nil:
		err = f.create(s)
	default:
		err = f.rename(s.temp, s.Path)
	}
	if err != nil {
		return err
	}
	return f.sync(path.Dir(s.Path))
}

// create gives a new file its name, and fails if the name exists.
func (f *Folder) create(s *step) error {
	err := f.root.Link(s.temp, s.Path)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrExist) { // a file system without links: reserve the name first, then replace the file
		var file *os.File
		if file, err = f.root.OpenFile(s.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, s.mode); err == nil {
			if err = errors.Join(file.Close(), f.rename(s.temp, s.Path)); err != nil {
				_ = f.root.Remove(s.Path)
			}
			return err
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return exists(s.Path)
	}
	return err
}

// undo reverts steps, the last one first.
func (f *Folder) undo(steps []step) error {
	var stuck []string
	for _, s := range slices.Backward(steps) {
		if f.back(s) != nil {
			stuck = append(stuck, s.Path)
		}
	}
	if len(stuck) == 0 {
		return nil
	}
	return &ken.Error{Code: ken.CodeInternal, Field: strings.Join(stuck, ", "), Msg: "was changed and could not be changed back",
		Try: "Look at the file: it holds the new content."}
}

func (f *Folder) back(s step) error {
	if s.Was == nil {
		return f.root.Remove(s.Path)
	}
	temp, err := f.write(path.Dir(s.Path), s.Was, s.mode)
	if err != nil {
		return err
	}
	if err = f.rename(temp, s.Path); err != nil {
		_ = f.root.Remove(temp)
		return err
	}
	return f.sync(path.Dir(s.Path))
}

// sync flushes a folder, so that renames are durable. Errors are ignored: systems that
// can't sync a folder don't need to.
func (f *Folder) sync(dir string) error {
	d, err := f.root.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}

// denied converts the error for a place that can't be written.
func denied(name string, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return &ken.Error{Code: ken.CodeRefused, Field: name, Msg: "can't be written", Try: "See who may write the project's folder.", Err: err}
	}
	return err
}

func exists(name string) error {
	return &ken.Error{Code: ken.CodeExists, Field: name, Msg: "is there already", Try: "Choose another name."}
}

func changed(name string) error {
	return &ken.Error{Code: ken.CodeUnavailable, Field: name, Msg: "has changed since it was read; it was left alone", Try: "Do it again: the new content is read first."}
}
