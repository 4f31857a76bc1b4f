package repository

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// logFormat writes a commit as hash, author's time, subject and body, each ended
// by a NUL, which none of them can hold; the paths follow, ended likewise.
const logFormat = "%x01%H%x00%at%x00%s%x00%b%x00"

type commit struct {
	sha, subject, body string
	at                 time.Time
	paths              []string
}

var errLogFormat = errors.New("unexpected output of git log")

// parseLog reads the output of git log in logFormat with -z and --name-only and
// calls emit for each commit. want are the hashes that were asked for: only one
// of these, not seen yet, starts a commit, whatever a path is called.
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
			break // git was cut off, perhaps in the middle of this commit
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

// clean makes text of any bytes: valid, with line feeds and tabs as its only
// control characters.
func clean(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\r\n", "\n"), "�")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s))
}

// unixTime reads seconds since 1970; what is no time of the years 1 to 9999, and
// so could not be written as JSON, is 1970.
func unixTime(s string) time.Time {
	sec, err := strconv.ParseInt(s, 10, 64)
	if t := time.Unix(sec, 0).UTC(); err == nil && t.Year() >= 1 && t.Year() <= 9999 {
		return t
	}
	return time.Unix(0, 0).UTC()
}

var (
	trailer = lazyregexp.New(`^(?:[A-Za-z][A-Za-z0-9-]*: .|\(cherry picked from commit )`)
	// issueTrailer names what a commit is about; the others name people and tools.
	issueTrailer = lazyregexp.New(`(?i)^(?:fixes|closes|resolves|refs?|references|see(?:-also)?|issue|bug|updates): `)
)

// trimTrailers drops the last paragraph of a body when it is made of trailers,
// except those that name an issue.
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

// maxPaths is how many of a commit's paths are listed.
const maxPaths = 20

// commitDocument makes a document of one commit: its message and its paths, in as
// many chunks as the message needs.
func (x *indexer) commitDocument(c commit) Document {
	text := strings.TrimSpace(c.subject + "\n\n" + c.body)
	if files := listPaths(c.paths, x.lim.line()/2); files != "" {
		text = strings.TrimSpace(text + "\n\n" + files)
	}
	path := commitPrefix + c.sha
	doc := Document{Path: path, Known: Known{
		Hash: contentHash([]byte(text)), Size: int64(len(text)), ModTime: c.at, ReadAt: x.o.Now().UTC(), Cut: x.cut,
	}}
	heading := "commit: " + clip(c.subject, maxTitle)
	lines := fold(splitLines(text), x.lim.line())
	pieces := parts(cut(lines, span{0, len(lines)}, x.lim.max, x.lim.rest()), nil)
	for i := 1; i < len(pieces); i++ {
		pieces[i].lead = clip(heading, x.lim.lead())
	}
	ids := newNamer(path)
	var chunks []chunk
	for _, p := range pieces {
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
