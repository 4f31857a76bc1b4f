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

// File is a file with its data from the folder.
type File struct {
	Path    string // from the root, with slashes
	Size    int64  // bytes
	ModTime time.Time

	// Skip is the reason for which Index would leave the file out by default: ReasonTooLarge, or ReasonGenerated for
	// its name. It is empty for other files.
	Skip Reason
}

// Tree lists the files below a folder that Index would read, with the same ignore files, conventions and rules for
// secrets. Files left out for reasons other than those of File.Skip are only counted.
type Tree struct {
	Files    []File         // by path
	Skipped  map[Reason]int // as Report.Skipped; includes files with a Skip
	Withheld []Withheld     // by path; files that are secret by their name

	root *os.Root
}

// Files lists the files below the folder root. With paths, which are relative to the root and have slashes, it lists
// only these files and those below these folders. A path that does not exist, leads out of the root, or is within
// something left out yields nothing. Of the options, MaxFileBytes and Exclude are used.
//
// Folders that can't be listed are counted as ReasonUnreadable. The error is ken.ErrInvalid for invalid options or an
// invalid root, or that of ctx. The caller closes the tree.
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
	w.keepSkipped = true
	if len(paths) > 0 {
		w.selected = newSelection(paths)
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

// openRoot opens a folder from which no link leads outside, and returns its absolute path with links resolved.
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

// Close closes the root folder.
func (t *Tree) Close() error { return t.root.Close() }

// Content is the content of a file when it was read.
type Content struct {
	Bytes   []byte // the first bytes, up to the limit; owned by the caller
	Size    int64  // of the whole file, in bytes
	Hash    string // of the whole file, as in evidence: "sha256:" and hex digits
	ModTime time.Time
}

// Read reads a file of the tree and keeps its first limit bytes. ModTime is taken before reading, so a write during the
// read changes the time seen later. Errors are those of the file system, and fs.ErrInvalid if it is not a regular file.
// It is safe for concurrent use.
func (t *Tree) Read(path string, limit int64) (Content, error) { return readFile(t.root, path, limit) }

func readFile(root *os.Root, path string, limit int64) (c Content, err error) {
	f, err := root.Open(filepath.FromSlash(path))
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
	if int64(len(c.Bytes)) >= limit { // otherwise the whole file has been read, as usual
		rest, err = io.Copy(h, f)
	}
	c.Size = int64(len(c.Bytes)) + rest
	c.Hash = "sha256:" + hex.EncodeToString(h.Sum(nil))
	return c, err
}

// selection is the set of paths that a walk visits, with everything below them.
type selection struct {
	paths   map[string]bool
	parents map[string]bool // the folders above paths
}

func newSelection(paths []string) *selection {
	s := &selection{paths: map[string]bool{}, parents: map[string]bool{}}
	for _, p := range paths {
		if p = strings.TrimSuffix(p, "/"); !fs.ValidPath(p) {
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

// leadsTo reports whether a walk must visit an entry of a folder: it is selected, or above or below something selected.
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
	kenIgnore = ".kenignore" // in the same notation, for the index only; takes precedence over .gitignore in the same folder

	maxIgnoreFile = 1 << 20 // bytes; the rest of a larger ignore file is not read
)

// file is a candidate for indexing, with its data from the folder.
type file struct {
	path    string
	size    int64
	modTime time.Time
	skip    Reason // as File.Skip
}

// walker finds the files under a root. It accesses folders and files through os.Root, so a link created during the walk
// can't lead outside.
type walker struct {
	ctx         context.Context
	root        *os.Root
	prefix      string // from the work tree's top to the root
	o           Options
	exclude     []patterns
	selected    *selection // nil for everything
	keepSkipped bool       // also list files that are too large or generated
	skipped     map[Reason]int
	withheld    []Withheld
	files       []file
	userFolders map[string]bool // Ken's folders of the user, by path from the root; never entered
}

func newWalker(ctx context.Context, root *os.Root, prefix string, o Options) *walker {
	w := &walker{ctx: ctx, root: root, prefix: prefix, o: o, skipped: map[Reason]int{}, userFolders: map[string]bool{}}
	for _, dir := range trust.OwnFolders() { // the home folder may be the project or be within it
		if rel, err := filepath.Rel(trust.Real(root.Name()), dir); err == nil {
			w.userFolders[filepath.ToSlash(rel)] = true
		}
	}
	if len(o.Exclude) > 0 {
		w.exclude = []patterns{{base: prefix, list: parsePatterns(strings.Join(o.Exclude, "\n"), false)}}
	}
	return w
}

// walk visits the folder rel, "." for the root. below holds the ignore files from the folders above.
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

// skipByContents returns the reason to skip a folder because of what it contains; "" for none.
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

// descend adds the ignore files of a folder to those from the folders above.
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
			p.list = append(p.list, parsePatterns(string(data.Bytes), name == kenIgnore)...)
		}
	}
	if p.list == nil {
		return below
	}
	return append(slices.Clip(below), p)
}

func (w *walker) entry(rel string, e fs.DirEntry, siblings []string, stack []patterns) error {
	name := e.Name()
	if ownFolders[name] || w.userFolders[rel] || !w.selected.leadsTo(rel) { // .git may be a file
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
	if reason == "" || w.keepSkipped && (reason == ReasonTooLarge || reason == ReasonGenerated) {
		w.files = append(w.files, file{rel, info.Size(), info.ModTime().UTC(), reason})
	}
	return nil
}

// skip returns the reason to leave out an entry because of its name, its type or the patterns; "" for none.
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
	if secretFile(rel) {
		w.withheld = append(w.withheld, Withheld{Path: rel, What: "file name"})
		return ReasonSecret
	}
	return ""
}

// rootMarks are files and folders that mark the root of a project.
var rootMarks = []string{".ken", ".git", "go.mod"}

// projectFiles also mark a project. FindRoot does not use them, because subfolders of a project may contain them.
var projectFiles = []string{"package.json", "Cargo.toml", "pyproject.toml", "setup.py", "pom.xml", "build.gradle", "build.gradle.kts", "CMakeLists.txt",
	"Makefile", "composer.json", "Gemfile", "mix.exs", "WORKSPACE", "MODULE.bazel", "go.work", ".hg", ".svn", ".jj"}

// IsProject reports whether root, as returned by FindRoot, contains a mark of a project.
func IsProject(root string) bool {
	return hasAny(root, rootMarks) || hasAny(root, projectFiles)
}

func hasAny(dir string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// FindRoot returns the absolute path of the nearest folder, from dir upwards, that contains .ken, .git or go.mod. If
// there is none, it returns the absolute path of dir.
func FindRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find root: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if hasAny(at, rootMarks) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return dir, nil
		}
	}
}

// secretGlobs are patterns for lower-case names of files whose purpose is to hold secrets.
var secretGlobs = []string{
	".env", ".env.*", "*.env", ".envrc", "*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
	"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials", "credentials.json", "credentials.y*ml", "credentials.csv",
	"secrets.json", "secrets.y*ml", "secrets.toml", "secrets.env", "service-account*.json", "service_account*.json",
	"client_secret*.json", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".htpasswd", ".git-credentials", ".dockercfg",
	".pypirc", "kubeconfig", "*.kubeconfig", "*.tfstate", "*.tfstate.backup", "*.tfvars", "*.agekey",
}

// sampleSuffixes mark a file as an example of a secret file.
var sampleSuffixes = []string{".example", ".sample", ".template", ".dist", ".tmpl", ".defaults"}

// secretFile reports whether a file holds secrets according to its name.
func secretFile(rel string) bool {
	base := strings.ToLower(path.Base(rel))
	if slices.ContainsFunc(sampleSuffixes, func(s string) bool { return strings.HasSuffix(base, s) }) {
		return false
	}
	if slices.ContainsFunc(secretGlobs, func(g string) bool { return globMatch(g, base) }) {
		return true
	}
	switch dir := path.Base(path.Dir(rel)); dir {
	case ".ssh", ".aws", ".gnupg", ".docker", ".kube":
		return base == "config" || base == "config.json" || dir == ".gnupg"
	}
	return false
}

// npmToken matches a line with a secret in an .npmrc. Without such a line, the file contains only settings.
var npmToken = lazyregexp.New(`(?mi)_(authToken|auth|password)\s*=\s*[^\s$]`)

// withholdFile reports whether the whole file must be withheld because of its content.
func withholdFile(rel, text string) bool {
	return slices.Contains([]string{".npmrc", ".yarnrc", ".yarnrc.yml"}, path.Base(rel)) && npmToken.MatchString(text)
}

// withhold drops chunks that contain any part of a secret in their text or heading. It returns the remaining claims and
// a list of what was dropped.
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

// overlapsSecret reports whether the lines of the chunk contain any part of a secret, or text repeated in the chunk
// contains all of it.
func (c chunk) overlapsSecret(s secret) bool {
	return c.first <= s.last && c.last >= s.first ||
		s.text != "" && (strings.Contains(c.Heading, s.text) || strings.Contains(c.Text, s.text))
}
