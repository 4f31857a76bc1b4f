package repository

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/projectfile"
	"github.com/kenlayer/ken/internal/trust"
)

// commitPrefix is the prefix of the path of a document that is a commit.
const commitPrefix = "git:"

// history brings the commits in the index up to date: the newest commits without merges that are reachable from HEAD
// and touch the root. It removes commits that are no longer reachable or exceed the limit.
func (x *indexer) history(ctx context.Context) error {
	shas, keep, err := x.reachable(ctx)
	if err != nil {
		return err
	}
	if keep {
		return nil
	}
	x.report.Commits = len(shas)
	var fresh []string
	held := make(map[string]bool, len(shas))
	for _, sha := range shas {
		path := commitPrefix + sha
		held[path] = true
		if k, ok := x.known[path]; ok && k.Cut == x.cut {
			x.withheld(path, k)
			continue
		}
		fresh = append(fresh, sha)
	}
	for _, p := range slices.Sorted(maps.Keys(x.known)) {
		if strings.HasPrefix(p, commitPrefix) && !held[p] {
			x.remove(p)
		}
	}
	return x.commits(ctx, fresh, len(shas))
}

// reachable lists the commits for the index, newest first. keep reports that git could not list them; the indexed
// commits then stay.
func (x *indexer) reachable(ctx context.Context) (shas []string, keep bool, err error) {
	switch {
	case x.o.NoHistory:
		x.report.History = "not asked for"
		return nil, false, nil
	case x.tree.top == "":
		x.report.History = "not a git work tree"
		return nil, false, nil
	}
	if _, err := exec.LookPath("git"); err != nil {
		x.report.History = "git is not installed"
		return nil, true, nil //nolint:nilerr // it is reported
	}
	args := []string{"rev-list", "--no-merges", "-n", strconv.Itoa(x.o.MaxCommits), "HEAD", "--"}
	if x.tree.prefix != "" {
		args = append(args, ".")
	}
	out, err := x.git(ctx, args...).Output()
	switch {
	case ctx.Err() != nil:
		return nil, false, fmt.Errorf("list commits: %w", ctx.Err())
	case err == nil:
		return strings.Fields(string(out)), false, nil
	}
	if ref, e := x.git(ctx, "symbolic-ref", "-q", "HEAD").Output(); e == nil {
		if x.git(ctx, "show-ref", "--verify", "-q", strings.TrimSpace(string(ref))).Run() != nil && ctx.Err() == nil {
			x.report.History = "no commits yet"
			return nil, false, nil
		}
	}
	x.report.History = gitFailure(err)
	return nil, true, nil
}

// commits reads the new commits and adds them.
func (x *indexer) commits(ctx context.Context, fresh []string, total int) error {
	p := Progress{Stage: StageCommits, Done: total - len(fresh), Total: total}
	x.o.Progress(p)
	if len(fresh) == 0 {
		return x.flush(ctx)
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	cmd := x.git(running, "-c", "log.showRoot=true", "log", "--no-walk=unsorted", "--stdin", "-z", "--encoding=UTF-8",
		"--no-show-signature", "--no-notes", "--no-decorate", "--no-color", "--no-mailmap", "--no-ext-diff", "--no-textconv",
		"--no-renames", "--ignore-submodules", "--relative", "--name-only", "--format="+logFormat)
	cmd.Stdin = strings.NewReader(strings.Join(fresh, "\n") + "\n")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		x.report.History = gitFailure(err)
		return x.flush(ctx)
	}
	failed := parseLog(out, fresh, func(c commit) error {
		doc := x.commitDocument(c)
		x.put(doc)
		x.withheld(doc.Path, doc.Known)
		x.report.CommitsNew++
		if p.Done++; p.Done%readWindow == 0 {
			x.o.Progress(p)
		}
		return x.flushFull(ctx)
	})
	if failed != nil {
		stop() // parseLog does not read the rest
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("read git history: %w", ctx.Err())
	case errors.Is(failed, errLogFormat):
		x.report.History = "git: " + failed.Error()
	case failed != nil:
		return failed
	case err != nil:
		x.report.History = gitFailure(err)
	}
	x.o.Progress(p)
	return x.flush(ctx)
}

func (x *indexer) git(ctx context.Context, args ...string) *exec.Cmd {
	return trust.Git(ctx, x.dir, args...)
}

// gitFailure returns the first line of git's error output, or the error itself.
func gitFailure(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		first, _, _ := strings.Cut(string(exit.Stderr), "\n")
		return "git: " + clip(first, 200)
	}
	return "git: " + err.Error()
}

// logFormat writes a commit as hash, author's time, subject and body, each terminated by a NUL, which none of them can
// contain. The paths follow in the same form.
const logFormat = "%x01%H%x00%at%x00%s%x00%b%x00"

type commit struct {
	sha, subject, body string
	at                 time.Time
	paths              []string
}

var errLogFormat = errors.New("unexpected output of git log")

// parseLog reads the output of git log in logFormat with -z and --name-only and calls emit for each commit. want are
// the requested hashes. Only one of these that was not seen yet starts a commit, so a path can't be mistaken for one.
func parseLog(r io.Reader, want []string, emit func(commit) error) error {
	pending := make(map[string]bool, len(want))
	for _, sha := range want {
		pending[sha] = true
	}
	in := bufio.NewReader(r)
	next := func() (string, error) {
		s, err := in.ReadString(0)
		if errors.Is(err, io.EOF) && s != "" {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return "", err
		}
		return strings.TrimPrefix(s[:len(s)-1], "\n"), nil
	}
	token, err := next()
	for err == nil {
		sha, ok := strings.CutPrefix(token, "\x01")
		if !ok || !pending[sha] {
			return errLogFormat
		}
		delete(pending, sha)
		var f [3]string
		for i := range f {
			if f[i], err = next(); err != nil {
				return errors.Join(errLogFormat, err)
			}
		}
		c := commit{sha: sha, subject: clean(f[1]), body: trimTrailers(clean(f[2])), at: unixTime(f[0])}
		for token, err = next(); err == nil; token, err = next() {
			if s, ok := strings.CutPrefix(token, "\x01"); ok && pending[s] {
				break
			}
			if token != "" {
				c.paths = append(c.paths, clean(token))
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			break // the output was cut off, perhaps within this commit
		}
		if err := emit(c); err != nil {
			return err
		}
	}
	if !errors.Is(err, io.EOF) {
		return errors.Join(errLogFormat, err)
	}
	return nil
}

// clean turns bytes into valid UTF-8 without control characters other than line feed and tab.
func clean(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\r\n", "\n"), "�")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s))
}

// unixTime parses seconds since 1970. For an invalid number or a time outside the years 1 to 9999, which JSON can't
// represent, it returns 1970.
func unixTime(s string) time.Time {
	sec, err := strconv.ParseInt(s, 10, 64)
	if t := time.Unix(sec, 0).UTC(); err == nil && t.Year() >= 1 && t.Year() <= 9999 {
		return t
	}
	return time.Unix(0, 0).UTC()
}

var (
	trailer = lazyregexp.New(`^(?:[A-Za-z][A-Za-z0-9-]*: .|\(cherry picked from commit )`)
	// issueTrailer matches trailers that name an issue. Other trailers name people and tools.
	issueTrailer = lazyregexp.New(`(?i)^(?:fixes|closes|resolves|refs?|references|see(?:-also)?|issue|bug|updates): `)
)

// trimTrailers drops the last paragraph of a body if it consists of trailers, but keeps trailers that name an issue.
func trimTrailers(body string) string {
	head, last := "", body
	if i := strings.LastIndex(body, "\n\n"); i >= 0 {
		head, last = body[:i], body[i+2:]
	}
	var keep []string
	for l := range strings.SplitSeq(last, "\n") {
		switch {
		case !trailer.MatchString(l) && (len(keep) == 0 || !strings.HasPrefix(l, " ")):
			return body
		case issueTrailer.MatchString(l):
			keep = append(keep, l)
		}
	}
	return strings.TrimSpace(head + "\n\n" + strings.Join(keep, "\n"))
}

// maxPaths is the maximum number of a commit's paths that are listed.
const maxPaths = 20

// commitDocument makes a document of one commit from its message and paths, with as many chunks as needed.
func (x *indexer) commitDocument(c commit) Document {
	text := strings.TrimSpace(c.subject + "\n\n" + c.body)
	if files := listPaths(c.paths, x.lim.line()/2); files != "" {
		text = strings.TrimSpace(text + "\n\n" + files)
	}
	path := commitPrefix + c.sha
	doc := Document{Path: path, Known: Known{
		Hash: projectfile.Hash([]byte(text)), Size: int64(len(text)), ModTime: c.at, ReadAt: x.o.Now().UTC(), Cut: x.cut,
	}}
	heading := "commit: " + clip(c.subject, maxTitle)
	lines := wrapLines(splitLines(text), x.lim.line())
	ids := newNamer(path)
	var chunks []chunk
	for i, s := range cut(lines, span{0, len(lines)}, x.lim.max, x.lim.rest()) {
		p := piece{span: s}
		if i > 0 {
			p.lead = clip(heading, x.lim.lead())
		}
		cl := claim(ids, heading, p.text(lines), c.at)
		cl.Source, cl.SourceType = "commit "+c.sha[:min(12, len(c.sha))], "git"
		e := ken.FromGitHistory("", c.sha, clip(c.subject, maxTitle))
		e.FetchedAt = c.at
		cl.Evidence = []ken.Evidence{e}
		chunks = append(chunks, chunk{cl, lines[p.from].no, lines[p.to-1].no})
	}
	doc.Chunks, doc.Withheld = withhold(text, chunks)
	return doc
}

// listPaths lists a commit's paths in at most limit characters.
func listPaths(paths []string, limit int) string {
	paths = slices.Sorted(slices.Values(paths))
	list, n := "", 0
	for _, p := range paths {
		if n == maxPaths || utf8.RuneCountInString(list)+utf8.RuneCountInString(p)+2 > limit {
			break
		}
		if n++; n > 1 {
			list += ", "
		}
		if strings.ContainsFunc(p, unicode.IsControl) {
			p = strconv.Quote(p) // a line break would end the line
		}
		list += p
	}
	switch more := len(paths) - n; {
	case len(paths) == 0:
		return ""
	case n == 0:
		return "Files: " + strconv.Itoa(more)
	case more > 0:
		return "Files: " + list + " and " + strconv.Itoa(more) + " more"
	}
	return "Files: " + list
}

// workTree is the git work tree that contains a folder.
type workTree struct {
	top    string // absolute; "" outside any work tree
	prefix string // from top to the folder, with slashes and a trailing slash; "" if the folder is top
	gitDir string // folder with info/exclude, shared by linked work trees
}

// findWorkTree looks for a work tree in root, an absolute path, and in the folders above.
func findWorkTree(root string) workTree {
	for at := root; ; at = filepath.Dir(at) {
		mark := filepath.Join(at, ".git")
		if info, err := os.Stat(mark); err == nil {
			rel, err := filepath.Rel(at, root)
			if err != nil {
				return workTree{}
			}
			w := workTree{top: at, gitDir: mark}
			if rel != "." {
				w.prefix = filepath.ToSlash(rel) + "/"
			}
			if !info.IsDir() {
				w.gitDir = linkedGitDir(at, mark)
			}
			return w
		}
		if at == filepath.Dir(at) {
			return workTree{}
		}
	}
}

// linkedGitDir resolves the file that takes the place of the .git folder in a submodule or a linked work tree.
func linkedGitDir(top, mark string) string {
	dir, ok := pointer(mark, "gitdir: ", top)
	if !ok {
		return mark
	}
	if common, ok := pointer(filepath.Join(dir, "commondir"), "", dir); ok {
		return common
	}
	return dir
}

const maxPointer = 64 << 10

// pointer reads a file that contains one path, which is absolute or relative to base.
func pointer(name, prefix, base string) (string, bool) {
	data, err := projectfile.ReadFile(name, maxPointer)
	if err != nil {
		return "", false
	}
	p, ok := strings.CutPrefix(strings.TrimSpace(string(data)), prefix)
	if !filepath.IsAbs(p) {
		p = filepath.Join(base, p)
	}
	return p, ok
}

// ignoreStack reads the ignore files from above root: the work tree's info/exclude, then those of each folder from its
// top down to root's parent.
func (w workTree) ignoreStack() []patterns {
	if w.top == "" {
		return nil
	}
	stack := []patterns{{list: readPatterns(filepath.Join(w.gitDir, "info", "exclude"), false)}}
	for base, rest := "", w.prefix; rest != ""; {
		dir := filepath.Join(w.top, filepath.FromSlash(base))
		list := readPatterns(filepath.Join(dir, gitIgnore), false)
		list = append(list, readPatterns(filepath.Join(dir, kenIgnore), true)...)
		stack = append(stack, patterns{base: base, list: list})
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		base += name + "/"
	}
	return stack
}

// readPatterns reads an ignore file. It returns nil if the file can't be read.
func readPatterns(name string, own bool) []pattern {
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, err := projectfile.ReadFile(name, maxIgnoreFile)
	if err != nil {
		return nil
	}
	return parsePatterns(string(data), own)
}
