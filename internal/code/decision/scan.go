package decision

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/projectfile"
)

// scan is one pass over the folders.
type scan struct {
	r        *Registry
	ctx      context.Context
	old, now map[string]*page
	written  []string
	at       time.Time // time before the first read
	stale    []string  // files to read, in the order in which they were found
	problems []Problem
	full     bool
}

// all lists the folders and then reads the changed files, several at the same time, because reading and parsing take
// most of the time.
func (s *scan) all() error {
	for _, f := range s.r.o.Folders {
		if err := s.folder(f, 0); err != nil {
			return err
		}
	}
	read := make([]*page, len(s.stale))
	failed := make([]error, len(s.stale))
	inParallel(len(s.stale), func(i int) {
		if failed[i] = s.ctx.Err(); failed[i] == nil {
			failed[i] = caught.Run(func() (err error) {
				read[i], err = s.read(s.stale[i])
				return err
			})
		}
	})
	if err := s.ctx.Err(); err != nil {
		return err
	}
	for i, p := range s.stale {
		if s.now[p] = read[i]; failed[i] != nil {
			delete(s.now, p)
			s.unread(p, failed[i])
		}
	}
	return nil
}

// inParallel calls do for 0 to n-1, on up to GOMAXPROCS goroutines.
func inParallel(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

func (s *scan) folder(dir string, depth int) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	entries, err := s.r.files.List(dir)
	if err != nil {
		s.unread(dir, err)
		return nil
	}
	for _, e := range entries {
		p := path.Join(dir, e.Name)
		switch {
		case e.Link:
			if markdown(e.Name) {
				s.problems = append(s.problems, Problem{Path: p, Text: "a symbolic link; it is not read", Try: "Put the file itself there."})
			}
		case e.Folder:
			if depth < maxDepth && e.Name != "node_modules" && e.Name != ".git" {
				if err := s.folder(p, depth+1); err != nil {
					return err
				}
			}
		case !markdown(e.Name) || s.has(p):
		case len(s.now) >= maxFiles:
			if !s.full {
				s.problems = append(s.problems, Problem{Path: dir, Text: fmt.Sprintf("more than %d files; the rest is not read", maxFiles), Try: "Name the folders of the decisions more closely."})
			}
			s.full = true
		default:
			s.file(p, e)
		}
	}
	return nil
}

// has reports whether a file was found before. Folders may be nested.
func (s *scan) has(p string) bool {
	_, ok := s.now[p]
	return ok
}

// file keeps the page of an unchanged file, or marks the file to be read.
func (s *scan) file(p string, e projectfile.Entry) {
	was := s.old[p]
	if was != nil && was.size == e.Size && was.modTime.Equal(e.ModTime) && was.modTime.Add(clockGranularity).Before(was.readAt) && !slices.Contains(s.written, p) {
		s.now[p] = was
		return
	}
	s.now[p] = nil // reserved for the page
	s.stale = append(s.stale, p)
}

func (s *scan) read(p string) (*page, error) {
	f, err := s.r.files.Read(p, maxFile)
	if err != nil {
		return nil, err
	}
	var n *page
	if was := s.old[p]; was != nil && was.doc.Hash == f.Hash {
		again := *was
		n = &again
	} else {
		d := parse(p, f.Bytes)
		d.ModTime = f.ModTime
		n = pageOf(d)
	}
	n.size, n.modTime, n.readAt = int64(len(f.Bytes)), f.ModTime, s.at
	return n, nil
}

func (s *scan) unread(p string, err error) {
	text, try := err.Error(), "See that it can be read."
	if errors.Is(err, projectfile.ErrTooLarge) {
		text, try = fmt.Sprintf("more than %d bytes; it is not read", maxFile), "Move everything else into other files."
	}
	s.problems = append(s.problems, Problem{Path: p, Text: text, Try: try})
}

// maxSource is the maximum number of bytes of a file that are parsed: a hundred times the usual length.
const maxSource = 1 << 20

const byteOrderMark = "\ufeff"

// line is one line of a file. from and to are its byte offsets in the file, without the line end.
type line struct {
	text     string
	from, to int
}

func (l line) blank() bool { return strings.TrimSpace(l.text) == "" }

// indent returns the width of the white space before the text.
func (l line) indent() int {
	n := 0
	for i := range len(l.text) {
		switch l.text[i] {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}

// split splits the bytes of a file into lines. readOnlyReason says why the bytes can't be edited by these lines; "" if
// they can.
func split(src []byte) (lines []line, problems []Problem, readOnlyReason string) {
	seal := func(at int, text, try string) {
		problems = append(problems, Problem{Line: at, Text: text, Try: try})
		if readOnlyReason == "" {
			readOnlyReason = text
		}
	}
	var text string
	switch {
	case bytes.HasPrefix(src, []byte("\xff\xfe")), bytes.HasPrefix(src, []byte("\xfe\xff")):
		text = fromUTF16(src[:min(len(src), 2*maxSource)])
		seal(1, "UTF-16; it is read, but not changed", "Save it as UTF-8.")
	case !utf8.Valid(src):
		text = string(src[:min(len(src), maxSource)])
		at := 1
		for i, r := range text {
			if r == '\n' {
				at++
			}
			if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd") {
				break
			}
		}
		text = strings.ToValidUTF8(text, "\ufffd")
		seal(at, "not UTF-8; it is read, but not changed", "Save it as UTF-8.")
	default:
		text = string(src[:min(len(src), maxSource)])
	}
	if len(src) > maxSource && readOnlyReason == "" {
		text = strings.ToValidUTF8(text, "") // a character may have been cut in two
	}
	if strings.ContainsRune(text, 0) {
		seal(1+strings.Count(text[:strings.IndexByte(text, 0)], "\n"), "a zero byte; this is not text", "Look at what wrote it.")
	}
	if len(src) > maxSource {
		seal(1+strings.Count(text, "\n"), fmt.Sprintf("%d bytes; only the first %d are read", len(src), maxSource), "Move everything else into other files.")
	}
	if mended, at := replaceBareReturns(text); at >= 0 {
		seal(1+strings.Count(text[:at], "\n"), "a carriage return without a line feed", "Save it with the line ends of Unix or Windows.")
		text = mended
	}
	at := 0
	if strings.HasPrefix(text, byteOrderMark) {
		at = len(byteOrderMark)
		if readOnlyReason == "" {
			problems = append(problems, Problem{Line: 1, Text: "a byte order mark at the start", Try: "Save it without one: many tools take it for a part of the text."})
		}
	}
	for l := range strings.Lines(text[at:]) {
		bare := strings.TrimSuffix(strings.TrimSuffix(l, "\n"), "\r")
		lines = append(lines, line{text: bare, from: at, to: at + len(bare)})
		at += len(l)
	}
	return lines, problems, readOnlyReason
}

// replaceBareReturns replaces carriage returns without a line feed by line feeds, as they ended lines on old systems. first
// is the index of the first one; -1 for none.
func replaceBareReturns(text string) (mended string, first int) {
	first = -1
	if !strings.Contains(text, "\r") {
		return text, first
	}
	b := []byte(text)
	for i, c := range b {
		if c == '\r' && (i+1 == len(b) || b[i+1] != '\n') {
			if b[i] = '\n'; first < 0 {
				first = i
			}
		}
	}
	return string(b), first
}

func fromUTF16(src []byte) string {
	var order binary.ByteOrder = binary.BigEndian
	if src[0] == 0xff {
		order = binary.LittleEndian
	}
	units := make([]uint16, 0, len(src)/2)
	for pair := range slices.Chunk(src[:len(src)&^1], 2) {
		units = append(units, order.Uint16(pair))
	}
	return string(utf16.Decode(units))
}

// lineEnd returns the line end of a file's first line.
func lineEnd(src []byte) string {
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

var (
	fileNumber  = lazyregexp.New(`^(?:((?:[A-Z][A-Z0-9]*[-_])*ADR(?:[-_][A-Za-z]+)*)[-_]?|(?i:(?:adr|adl|decision|rfc|dr)[-_ ]?))?(0*(\d{1,6}))(?:[-_. ]+(.*))?$`)
	fileDate    = lazyregexp.New(`^(?:\d{4}-\d{2}-\d{2}|\d{8})(?:[-_ ]+(.*))?$`)
	titleNumber = lazyregexp.New(`(?i)^\[?(?:adr|adl|decision record|decision|rfc|dr)[\s#:_-]*0*(\d{1,6})\]?(?:\s*[.:)]\s*|\s*[–—-]+\s*|\s+|$)(.*)$`)
	bareNumber  = lazyregexp.New(`^(?:#|\[)?0*(\d{1,6})\]?(?:[.:)]\s+|\s*[–—]\s*|\s+-+\s+)(\S.*)$`)
	writtenID   = lazyregexp.New(`(?i)^(?:adrs?[-_ #]*)+0*(\d{1,6})$`)
	attributes  = lazyregexp.New(`\s*\{[#.][^{}]*\}\s*$`) // {#anchor} after a heading
	noTitle     = lazyregexp.New(`(?i)^(?:title|architect\w* decision records?(?: \(adr\))?|adr)$`)
)

// idOf returns the ID for a number: ADR-0042.
func idOf(number int) string { return fmt.Sprintf("ADR-%04d", number) }

// folderOf returns the folder of a path; "" for the root.
func folderOf(p string) string {
	if d := path.Dir(p); d != "." {
		return d
	}
	return ""
}

// stem returns a file's name without its extension.
func stem(p string) string {
	base := path.Base(p)
	return strings.TrimSuffix(base, path.Ext(base))
}

// fromFile parses a file's name: its number or NoNumber, its ID, and the words after it. Names such as
// ODH-ADR-MS-0007-x.md have a series of their own.
func fromFile(p string) (number int, id, rest string) {
	s := stem(p)
	if m := fileDate.FindStringSubmatch(s); m != nil {
		return NoNumber, "", m[1]
	}
	m := fileNumber.FindStringSubmatch(s)
	if m == nil {
		return NoNumber, "", s
	}
	n, _ := strconv.Atoi(m[3])
	if m[1] != "" && m[1] != "ADR" {
		return n, m[1] + "-" + m[2], m[4]
	}
	return n, idOf(n), m[4]
}

// fromTitle parses a heading: its number or NoNumber, and the words after it.
func fromTitle(title string) (number int, rest string) {
	t := strings.TrimSpace(title)
	if strings.Contains(t, "{") {
		t = attributes.ReplaceAllString(t, "")
	}
	if bold, ok := strings.CutPrefix(t, "**"); ok {
		t = strings.TrimSuffix(bold, "**")
	}
	m := titleNumber.FindStringSubmatch(t)
	if m == nil {
		m = bareNumber.FindStringSubmatch(t)
	}
	if m == nil {
		return NoNumber, t
	}
	n, _ := strconv.Atoi(m[1])
	return n, strings.TrimSpace(m[2])
}

// fromID parses an id in front matter: its number or NoNumber, and its normal spelling.
func fromID(id string) (number int, spelled string) {
	id = strings.TrimSpace(id)
	if m := writtenID.FindStringSubmatch(id); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n, idOf(n)
	}
	if n, err := strconv.Atoi(id); err == nil && n >= 0 && n < 1e6 {
		return n, idOf(n)
	}
	return NoNumber, id
}

// identify sets ID, Number and Title from the parsed parts, and reports contradictions.
func (d *document) identify(id, title Value, top *heading) {
	r := &d.Record
	inFile, fileID, rest := fromFile(r.Path)
	inTitle := NoNumber
	r.Number = NoNumber
	if top != nil {
		n, words := fromTitle(top.title)
		inTitle = n
		if words == "" {
			words = strings.ReplaceAll(rest, "-", " ")
		}
		r.Title = Value{words, top.at + 1}
	}
	if title.Found() && (top == nil || r.Title.Text == "" || noTitle.MatchString(r.Title.Text)) {
		n, words := fromTitle(title.Text)
		inTitle = n
		r.Title = Value{words, title.Line}
	}
	if id.Found() {
		n, spelled := fromID(id.Text)
		r.Number, r.ID = n, Value{spelled, id.Line}
	}
	titleLine := max(1, r.Title.Line)
	switch {
	case r.ID.Text != "":
	case inFile >= 0:
		r.Number, r.ID = inFile, Value{fileID, titleLine}
	case inTitle >= 0:
		r.Number, r.ID = inTitle, Value{idOf(inTitle), titleLine}
	default:
		r.ID = Value{stem(r.Path), titleLine}
	}
	if r.Title.Text == "" {
		r.Title = Value{strings.TrimSpace(strings.NewReplacer("-", " ", "_", " ").Replace(rest)), 1}
	}
	if inFile >= 0 && inTitle >= 0 && inFile != inTitle {
		d.problem(r.Title.Line, fmt.Sprintf("the title has number %d, the file's name %d", inTitle, inFile), "Give both the same number.")
	}
	if id.Found() && r.Number >= 0 && inFile >= 0 && r.Number != inFile {
		d.problem(id.Line, fmt.Sprintf("the front matter has number %d, the file's name %d", r.Number, inFile), "Give both the same number.")
	}
	if r.Number == NoNumber {
		r.Number = max(inFile, inTitle)
	}
	r.Handle = r.ID.Text
}
