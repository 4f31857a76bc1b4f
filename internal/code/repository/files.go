package repository

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/trust"
)

// File is a file as its folder describes it.
type File struct {
	Path    string // from the root, with slashes
	Size    int64  // bytes
	ModTime time.Time

	// Skip says why Index leaves the file out although nobody asked it to: ReasonTooLarge,
	// or ReasonGenerated for its name. Empty for the others.
	Skip Reason
}

// Tree is the files below a folder that Index looks at: by the same ignore files,
// conventions and rules for secrets. Files with other reasons against them than
// File.Skip has are counted and left out.
type Tree struct {
	Files    []File         // by path
	Skipped  map[Reason]int // as Report.Skipped; those in Files with a Skip included
	Withheld []Withheld     // by path; what its name says to be secret

	root *os.Root
}

// Files looks for the files below the folder root. With paths, which are from the root
// and have slashes, it looks only at these, and below those that are folders; a path
// that is not there, or that leads out of the root or into what is left out, yields
// nothing. Of the options, MaxFileBytes, Include and Exclude count.
//
// Folders that can't be listed are counted as ReasonUnreadable; the error is
// ken.ErrInvalid for options or a root that can't be, or that of ctx. Close the tree
// when nothing is read any more.
func Files(ctx context.Context, root string, o Options, paths ...string) (*Tree, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	dir, r, err := openRoot(root)
	if err != nil {
		return nil, err
	}
	work := findWorkTree(dir)
	w := newWalker(ctx, r, work.prefix, o)
	w.keep = true
	if len(paths) > 0 {
		w.only = newSelection(paths)
	}
	if err := w.walk(".", work.ignoreStack()); err != nil {
		_ = r.Close() // it was only read
		return nil, fmt.Errorf("walk the repository: %w", err)
	}
	t := &Tree{Skipped: w.skipped, Withheld: w.withheld, root: r, Files: make([]File, len(w.files))}
	for i, f := range w.files {
		t.Files[i] = File{f.path, f.size, f.modTime, f.skip}
	}
	slices.SortFunc(t.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(t.Withheld, func(a, b Withheld) int { return strings.Compare(a.Path, b.Path) })
	return t, nil
}

// openRoot opens a folder that nothing leads out of, and returns its absolute path
// without links.
func openRoot(root string) (string, *os.Root, error) {
	dir, err := filepath.Abs(root)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	var r *os.Root
	if err == nil {
		r, err = os.OpenRoot(dir)
	}
	if err != nil {
		return "", nil, &ken.Error{Code: ken.CodeInvalid, Field: "root", Msg: "can't be opened as a folder",
			Try: "Name an existing folder that you may read.", Err: err}
	}
	return dir, r, nil
}

// Close lets go of the folder.
func (t *Tree) Close() error { return t.root.Close() }

// Content is what a file held when it was read.
type Content struct {
	Bytes   []byte // the first of them, as many as were asked for; the caller's
	Size    int64  // of all of it, bytes
	Hash    string // of all of it, as evidence has it: "sha256:" and hex
	ModTime time.Time
}

// Read reads a file of the tree and keeps its first limit bytes. The time is from
// before the reading: a write meanwhile shows the next time. Errors are those of the
// file system, and fs.ErrInvalid for what is no regular file. It is safe for concurrent
// use.
func (t *Tree) Read(path string, limit int64) (c Content, err error) {
	f, err := t.root.Open(filepath.FromSlash(path))
	if err != nil {
		return c, err
	}
	defer f.Close() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return c, err
	}
	if !info.Mode().IsRegular() {
		return c, fmt.Errorf("read %s: %w", path, fs.ErrInvalid)
	}
	c.ModTime = info.ModTime().UTC()
	var b bytes.Buffer
	b.Grow(int(max(min(info.Size(), limit), 0)) + bytes.MinRead)
	if _, err = b.ReadFrom(io.LimitReader(f, limit)); err != nil {
		return c, err
	}
	c.Bytes = b.Bytes()
	h := sha256.New()
	h.Write(c.Bytes)
	rest := int64(0)
	if int64(len(c.Bytes)) >= limit { // else that was all, as in most files
		rest, err = io.Copy(h, f)
	}
	c.Size = int64(len(c.Bytes)) + rest
	c.Hash = "sha256:" + hex.EncodeToString(h.Sum(nil))
	return c, err
}

// selection is which paths a walk looks at: some, and what is below them.
type selection struct {
	paths   map[string]bool
	parents map[string]bool // the folders that lead there
}

func newSelection(paths []string) *selection {
	s := &selection{paths: map[string]bool{}, parents: map[string]bool{}}
	for _, p := range paths {
		p = strings.TrimSuffix(p, "/")
		if p == "." {
			s.paths[p] = true
			continue
		}
		if !fs.ValidPath(p) {
			continue
		}
		s.paths[p] = true
		for i := range p {
			if p[i] == '/' {
				s.parents[p[:i]] = true
			}
		}
	}
	return s
}

// leadsTo reports whether a walk has to do with an entry of a folder.
func (s *selection) leadsTo(rel string) bool {
	if s == nil || s.paths["."] || s.parents[rel] || s.paths[rel] {
		return true
	}
	for i := range rel {
		if rel[i] == '/' && s.paths[rel[:i]] {
			return true
		}
	}
	return false
}

const (
	gitIgnore = ".gitignore"
	kenIgnore = ".kenignore" // the same notation, for the index alone; stronger than .gitignore beside it

	maxIgnoreFile = 1 << 20 // bytes; a larger ignore file is a mistake
)

// file is a candidate for indexing, as its folder describes it.
type file struct {
	path    string
	size    int64
	modTime time.Time
	skip    Reason // as File.Skip
}

// walker finds the files under a root. It asks for folders and files through
// os.Root, so a link that appears while it walks leads nowhere else.
type walker struct {
	ctx              context.Context
	root             *os.Root
	prefix           string // from the work tree's top to the root
	o                Options
	include, exclude []patterns
	only             *selection // nil for everything
	keep             bool       // too large and generated ones among the files, too
	skipped          map[Reason]int
	withheld         []Withheld
	files            []file
	own              map[string]bool // Ken's folders of the user, by path from the root: never entered
}

func newWalker(ctx context.Context, root *os.Root, prefix string, o Options) *walker {
	w := &walker{ctx: ctx, root: root, prefix: prefix, o: o, skipped: map[Reason]int{}, own: map[string]bool{}}
	for _, dir := range trust.OwnFolders() { // where a home folder is, or lies in, the project
		if rel, err := filepath.Rel(trust.Real(root.Name()), dir); err == nil {
			w.own[filepath.ToSlash(rel)] = true
		}
	}
	for _, p := range []struct {
		to    *[]patterns
		lines []string
	}{{&w.include, o.Include}, {&w.exclude, o.Exclude}} {
		if len(p.lines) > 0 {
			*p.to = []patterns{{base: prefix, list: parsePatterns(strings.Join(p.lines, "\n"), false)}}
		}
	}
	return w
}

// walk visits the folder rel, "." for the root. below are the ignore files that
// apply from above.
func (w *walker) walk(rel string, below []patterns) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(w.root.FS(), rel)
	if err != nil {
		if rel == "." {
			return err
		}
		w.skipped[ReasonUnreadable]++
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	if rel != "." {
		if reason := skipByContents(entries); reason != "" {
			w.skipped[reason]++
			return nil
		}
	}
	stack := w.descend(rel, entries, below)
	for _, e := range entries {
		if err := w.entry(path.Join(rel, e.Name()), e, names, stack); err != nil {
			return err
		}
	}
	return nil
}

// skipByContents says why a folder is skipped by what it holds.
func skipByContents(entries []fs.DirEntry) Reason {
	for _, e := range entries {
		switch {
		case e.Name() == ".git" && !e.IsDir():
			return ReasonNested
		case e.Name() == cacheTag && e.Type().IsRegular(), e.Name() == "pyvenv.cfg" && e.Type().IsRegular():
			return ReasonGenerated
		}
	}
	return ""
}

// descend adds the ignore files of a folder to those above it.
func (w *walker) descend(rel string, entries []fs.DirEntry, below []patterns) []patterns {
	p := patterns{base: w.prefix}
	if rel != "." {
		p.base += rel + "/"
	}
	for _, name := range []string{gitIgnore, kenIgnore} {
		i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name && e.Type().IsRegular() })
		if i < 0 {
			continue
		}
		if data, err := readFile(w.root, path.Join(rel, name), maxIgnoreFile); err == nil {
			p.list = append(p.list, parsePatterns(string(data.content), name == kenIgnore)...)
		}
	}
	if p.list == nil {
		return below
	}
	return append(slices.Clip(below), p)
}

func (w *walker) entry(rel string, e fs.DirEntry, siblings []string, stack []patterns) error {
	name := e.Name()
	if ownFolders[name] || w.own[rel] || !w.only.leadsTo(rel) { // .git may be a file
		return nil
	}
	if reason := w.skip(rel, e, siblings, stack); reason != "" {
		w.skipped[reason]++
		return nil
	}
	if e.IsDir() {
		return w.walk(rel, stack)
	}
	info, err := e.Info()
	if err != nil {
		w.skipped[ReasonUnreadable]++
		return nil //nolint:nilerr // it is counted
	}
	reason := ReasonTooLarge
	if info.Size() <= w.o.MaxFileBytes {
		reason = fileConvention(name, info.Size())
	}
	if reason != "" {
		w.skipped[reason]++
	}
	if reason == "" || w.keep && (reason == ReasonTooLarge || reason == ReasonGenerated) {
		w.files = append(w.files, file{rel, info.Size(), info.ModTime().UTC(), reason})
	}
	return nil
}

// skip says why an entry is left out by its name, its type and the patterns.
func (w *walker) skip(rel string, e fs.DirEntry, siblings []string, stack []patterns) Reason {
	full := w.prefix + rel
	verdict, own := match(stack, full, e.IsDir())
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		return ReasonSymlink
	case !e.IsDir() && !e.Type().IsRegular(), strings.ContainsFunc(rel, unicode.IsControl), strings.HasPrefix(rel, commitPrefix):
		return ReasonIrregular
	case !utf8.ValidString(rel):
		return ReasonNotUTF8
	case verdict == ignored:
		return ReasonIgnored
	}
	if v, _ := match(w.exclude, full, e.IsDir()); v == ignored {
		return ReasonExcluded
	}
	if e.IsDir() {
		if verdict == reincluded && own {
			return ""
		}
		return folderConvention(e.Name(), siblings)
	}
	if v, _ := match(w.include, full, false); w.include != nil && v != ignored {
		return ReasonExcluded
	}
	if secretFile(rel) {
		w.withheld = append(w.withheld, Withheld{Path: rel, What: "file name"})
		return ReasonSecret
	}
	return ""
}

// rootMarks make a folder a project's root.
var rootMarks = []string{".ken", ".git", "go.mod"}

// projectFiles make a folder a project that is no root to FindRoot, because such files
// lie in the folders of projects too.
var projectFiles = []string{"package.json", "Cargo.toml", "pyproject.toml", "setup.py", "pom.xml", "build.gradle", "build.gradle.kts", "CMakeLists.txt",
	"Makefile", "composer.json", "Gemfile", "mix.exs", "WORKSPACE", "MODULE.bazel", "go.work", ".hg", ".svn", ".jj"}

// IsProject reports whether something in root, as FindRoot returned it, says that it is
// a project.
func IsProject(root string) bool {
	return slices.ContainsFunc(slices.Concat(rootMarks, projectFiles), func(mark string) bool {
		_, err := os.Lstat(filepath.Join(root, mark))
		return err == nil
	})
}

// FindRoot returns the absolute path of the nearest folder from dir upwards that
// holds .ken, .git or go.mod, and of dir itself when none does.
func FindRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find root: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		for _, mark := range rootMarks {
			if _, err := os.Lstat(filepath.Join(at, mark)); err == nil {
				return at, nil
			}
		}
		if at == filepath.Dir(at) {
			return dir, nil
		}
	}
}

// secretGlobs are lower-case file names whose whole purpose is to hold secrets.
var secretGlobs = []string{
	".env", ".env.*", "*.env", ".envrc", "*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
	"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials", "credentials.json", "credentials.y*ml", "credentials.csv",
	"secrets.json", "secrets.y*ml", "secrets.toml", "secrets.env", "service-account*.json", "service_account*.json",
	"client_secret*.json", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".htpasswd", ".git-credentials", ".dockercfg",
	".pypirc", "kubeconfig", "*.kubeconfig", "*.tfstate", "*.tfstate.backup", "*.tfvars", "*.agekey",
}

// sampleSuffixes mark a file as the example of one that would hold secrets.
var sampleSuffixes = []string{".example", ".sample", ".template", ".dist", ".tmpl", ".defaults"}

// secretFile reports whether the name alone says that a file holds secrets.
func secretFile(rel string) bool {
	base := strings.ToLower(path.Base(rel))
	for _, s := range sampleSuffixes {
		if strings.HasSuffix(base, s) {
			return false
		}
	}
	for _, g := range secretGlobs {
		if globMatch(g, base) {
			return true
		}
	}
	switch dir := path.Base(path.Dir(rel)); dir {
	case ".ssh", ".aws", ".gnupg", ".docker", ".kube":
		return base == "config" || base == "config.json" || dir == ".gnupg"
	}
	return false
}

// npmToken is the line that makes an .npmrc a secret; without one it is settings.
var npmToken = lazyregexp.New(`(?mi)_(authToken|auth|password)\s*=\s*[^\s$]`)

// withholdFile reports whether the content says that no part of a file may be
// shown.
func withholdFile(rel, text string) bool {
	switch path.Base(rel) {
	case ".npmrc", ".yarnrc", ".yarnrc.yml":
		return npmToken.MatchString(text)
	}
	return false
}

// withhold drops the chunks of text that hold any part of a secret, in their
// text or in the heading above it, and says what was dropped.
func withhold(text string, chunks []chunk) ([]ken.Claim, []Withheld) {
	secrets := findSecrets(text)
	claims := make([]ken.Claim, 0, len(chunks))
	var dropped []Withheld
	for _, c := range chunks {
		if i := slices.IndexFunc(secrets, c.overlapsSecret); i >= 0 {
			dropped = append(dropped, Withheld{Line: c.first, What: secrets[i].kind})
			continue
		}
		claims = append(claims, c.Claim)
	}
	return claims, dropped
}

type secret struct {
	kind, text  string
	first, last int // lines
}

func findSecrets(text string) []secret {
	var out []secret
	line, at := 1, 0
	for _, f := range guardrail.Secrets(text) {
		line += strings.Count(text[at:f.Start], "\n")
		at = f.Start
		out = append(out, secret{f.Kind, text[f.Start:f.End], line, line + strings.Count(text[f.Start:f.End], "\n")})
	}
	return out
}

// overlapsSecret reports whether any part of a secret stands in the lines of the chunk, or
// all of it in what the chunk repeats from elsewhere.
func (c chunk) overlapsSecret(s secret) bool {
	return c.first <= s.last && c.last >= s.first ||
		s.text != "" && (strings.Contains(c.Heading, s.text) || strings.Contains(c.Text, s.text))
}
