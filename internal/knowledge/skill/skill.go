package skill

import (
	"bytes"
	"cmp"
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
	MaxName        = 64               // maximum length of a name in characters, by the convention
	maxDescription = 1024             // maximum length of a description in characters, by the convention
	MaxBytes       = ken.MaxTextBytes // maximum size of the file, which is that of a claim's text
)

// fileName is the name of the file in a skill's folder.
const fileName = "SKILL.md"

// Skill is a parsed playbook. The caller owns its slices.
type Skill struct {
	Name        string // lower-case words with hyphens
	Title       string // the name as its author wrote it
	Description string // what it does and when to use it; one paragraph
	Body        string // Markdown, without front matter

	License       string
	Compatibility string
	AllowedTools  []string          // tools that it asks for; nothing here grants them
	Triggers      []string          // words by which it is recognised, in addition to the description
	Metadata      map[string]string // nil if there is none

	Path    string   // path of the file, as given to Read
	Hash    string   // "sha256:" and hex, of the file on disk
	Files   []File   // other files of the folder, by path
	Missing []string // paths that the text refers to and that don't exist

	derived bool // the description was taken from the body
}

// File is a file in a skill's folder.
type File struct {
	Path string `json:"path"` // slash-separated, relative to the folder
	Size int64  `json:"size"` // bytes
}

// Read reads the playbook at path: a Markdown file, or a folder with a SKILL.md.
// For a file called SKILL.md, the files of its folder are listed as well. Errors:
// ErrNotFound for a missing or unreadable file; ErrInvalid, with file and line
// where known, for an invalid playbook.
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

// inFolder returns the path of the skill's file in a folder; the case of its name
// does not matter.
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

// readFile reads a regular file, up to the maximum size of a playbook.
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

// Parse parses the text of a playbook. path is used for its name and for messages.
// The result has no files. Errors: ErrInvalid.
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
	s.Title = cmp.Or(s.Title, title, nameOf(path))
	if title != "" && (title == s.Title || slug(title) == slug(s.Title)) {
		body = rest // otherwise it would be in the text twice
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

// nameOf returns the name of a file without a heading: that of the file, or of its
// folder for a SKILL.md.
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
