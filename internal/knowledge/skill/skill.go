package skill

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// Limits.
const (
	MaxName        = 64               // characters of a name; the convention's
	MaxDescription = 1024             // characters of a description; the convention's
	MaxBytes       = ken.MaxTextBytes // of the file: a claim holds no more
)

// fileName is what the file in a skill's folder is called.
const fileName = "SKILL.md"

// Skill is a playbook as it was read. Its slices are the caller's.
type Skill struct {
	Name        string // lower-case words with hyphens: what it is called by
	Title       string // as its author wrote it
	Description string // what it does and when to use it; one paragraph
	Body        string // Markdown, without front matter

	License       string
	Compatibility string
	AllowedTools  []string          // that it wants; nothing here grants them
	Triggers      []string          // words that call for it, beside the description's
	Metadata      map[string]string // nil when there is none

	Path    string   // of the file, as given to Read
	Hash    string   // "sha256:" and hex, of the file as it lies on disk
	Files   []File   // that come with it, by path; without the file itself
	Missing []string // paths that the text refers to and that are not there

	derived bool // the description is the body's own
}

// File is one that lies in a skill's folder.
type File struct {
	Path string `json:"path"` // slash-separated, relative to the folder
	Size int64  `json:"size"` // bytes
}

// Read reads the playbook at path: a Markdown file, or a folder with a SKILL.md. A
// file that is called SKILL.md brings its folder along. Errors: ErrNotFound for
// what is not there; ErrInvalid, with file and line where there is one, for what
// is no playbook.
func Read(path string) (Skill, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Skill{}, unreadable(path, err)
	}
	if info.IsDir() {
		if path, err = inFolder(path); err != nil {
			return Skill{}, err
		}
	}
	b, err := readFile(path)
	if err != nil {
		return Skill{}, err
	}
	s, err := Parse(path, b)
	if err != nil {
		return Skill{}, err
	}
	if strings.EqualFold(filepath.Base(path), fileName) {
		if s.Files, err = list(filepath.Dir(path), filepath.Base(path)); err != nil {
			return Skill{}, err
		}
		s.Missing = missing(s.Body, s.Files)
	}
	return s, nil
}

// inFolder finds the skill's file in a folder, in whatever case.
func inFolder(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", unreadable(dir, err)
	}
	for _, e := range entries {
		if strings.EqualFold(e.Name(), fileName) && !e.IsDir() {
			return filepath.Join(dir, e.Name()), nil
		}
	}
	return "", &ken.Error{Code: ken.CodeNotFound, Msg: "no " + fileName + " in " + dir,
		Try: "Name a Markdown file, or a folder with a " + fileName + "."}
}

// readFile reads a regular file, and no more of it than a playbook may have.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, unreadable(path, errors.Join(err, errors.New("not a regular file")))
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	return b, nil
}

// Parse reads the text of a playbook; path is for its name and for messages. The
// result has no files. Errors: ErrInvalid.
func Parse(path string, b []byte) (Skill, error) {
	p := parser{path: path}
	sum := sha256.Sum256(b)
	text := bytes.TrimPrefix(b, []byte("\uFEFF"))
	switch {
	case len(b) > MaxBytes:
		return Skill{}, p.wrong(0, "", fmt.Sprintf("more than %d bytes", MaxBytes), "Split it: keep the method, and put what it refers to into files beside it.")
	case !utf8.Valid(text):
		return Skill{}, p.wrong(0, "", "not valid UTF-8", "Save the file as UTF-8.")
	}
	s := Skill{Path: path, Hash: "sha256:" + hex.EncodeToString(sum[:])}
	front, body, err := p.split(strings.ReplaceAll(string(text), "\r\n", "\n"))
	if err != nil {
		return Skill{}, err
	}
	if err := p.front(&s, front); err != nil {
		return Skill{}, err
	}
	title, rest := firstHeading(body)
	if s.Title == "" {
		if s.Title = title; title == "" {
			s.Title = nameOf(path)
		}
	}
	if title != "" && (title == s.Title || slug(title) == slug(s.Title)) {
		body = rest // it would stand there twice
	}
	s.Body = strings.TrimSpace(body)
	if s.Name = slug(s.Title); s.Name == "" {
		return Skill{}, p.wrong(p.lines["name"], "name", fmt.Sprintf("%q has no letter or digit", s.Title), "Give it a name such as deploy-to-production.")
	}
	if n := utf8.RuneCountInString(s.Title); p.lines["name"] > 0 && n > MaxName {
		return Skill{}, p.wrong(p.lines["name"], "name", fmt.Sprintf("%d characters; at most %d", n, MaxName), "Shorten it: the description has room for the rest.")
	}
	if s.Description == "" {
		s.Description, s.derived = firstParagraph(s.Body), true
	}
	if s.Description == "" {
		return Skill{}, p.wrong(0, "description", "missing, and there is no text to take it from", "Say in the front matter what the playbook does and when to use it.")
	}
	return s, nil
}

// nameOf is what a file without a heading is called: by its own name, or by its
// folder's when its name says nothing.
func nameOf(path string) string {
	base := filepath.Base(path)
	if strings.EqualFold(base, fileName) {
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		return filepath.Base(filepath.Dir(path))
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}

func unreadable(path string, err error) error {
	e := &ken.Error{Code: ken.CodeNotFound, Msg: "read playbook " + path, Err: err, Try: "Check the file and its permissions."}
	if errors.Is(err, fs.ErrNotExist) {
		e.Try = "Check the path; a playbook is a Markdown file, or a folder with a " + fileName + "."
	}
	return e
}
