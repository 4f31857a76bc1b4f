package pairs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/kenlayer/ken/internal/trust"
)

// change holds the lines that a commit added to indexed files.
type change struct {
	sha, subject string
	files        []string
	added        string
}

const (
	maxAdded    = 1200 // bytes of added lines per commit, plus at most one line
	maxPerFile  = 400  // bytes per file of these
	maxTouched  = 30   // files; the subject of a commit that touches more describes none of them
	maxDiffLine = 2000 // bytes; the rest of a longer line is left out
)

// addChange adds the pair of a commit's subject and its added lines.
func (m *miner) addChange(c change) {
	if len(c.files) == 0 || len(c.files) > maxTouched {
		return
	}
	if i, ok := m.passage(c.added); ok {
		m.pair(plainSubject(c.subject), SourceCommitCode, "git:"+c.sha, c.files, i)
	}
}

// logFormat begins each commit with a byte that can't begin a line of a patch, followed by the hash and the subject,
// each terminated by a NUL.
const logFormat = "%x01%H%x00%s%x00"

// diffs reads the newest n commits without merges and calls emit with what each added to known files, newest first.
func diffs(ctx context.Context, root string, n int, known map[string]bool, emit func(change)) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	cmd := trust.Git(running, root, "-c", "core.quotePath=false",
		"-c", "log.showRoot=true", "log", "--no-merges", "-n", strconv.Itoa(n), "--patch", "--unified=0", "--encoding=UTF-8", "--no-show-signature", "--no-notes",
		"--no-decorate", "--no-color", "--no-mailmap", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules", "--relative",
		"--src-prefix=a/", "--dst-prefix=b/", "--format="+logFormat, "HEAD", "--", ".")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("git: %w", err)
	}
	failed := parsePatches(out, known, emit)
	if failed != nil {
		stop() // the rest is not needed
	}
	return errors.Join(failed, cmd.Wait())
}

var errPatch = errors.New("unexpected output of git log")

// parsePatches reads the output of git log in logFormat with patches.
func parsePatches(r io.Reader, known map[string]bool, emit func(change)) error {
	p := &patches{in: bufio.NewReader(r), known: known}
	var c change
	open := false
	finish := func() {
		if open {
			c.added = strings.ToValidUTF8(c.added, "�")
			emit(c)
		}
	}
	line, err := p.line()
	for ; err == nil; line, err = p.line() {
		rest, starts := strings.CutPrefix(line, "\x01")
		switch {
		case starts:
			finish()
			f := strings.Split(rest, "\x00")
			if len(f) != 3 {
				return errPatch
			}
			c, open, p.file = change{sha: f[0], subject: strings.ToValidUTF8(f[1], "�")}, true, ""
		case open:
			if err := p.patch(&c, line); err != nil {
				return err
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	finish()
	return nil
}

// patches reads patches line by line.
type patches struct {
	in    *bufio.Reader
	known map[string]bool
	file  string // file of the present hunks; "" for an unknown one
	taken int    // bytes read from it
}

// hasContent reports whether a line has content: it is not only a bracket, and not an import.
func hasContent(line string) bool {
	line = strings.TrimSpace(line)
	return strings.ContainsFunc(line, unicode.IsLetter) && !strings.HasPrefix(line, "package ") && !strings.HasPrefix(line, "import ") &&
		!strings.HasPrefix(line, "from ") && (line[0] != '"' || line[len(line)-1] != '"')
}

// line reads a line without its end. It drops the rest of a long line.
func (p *patches) line() (string, error) {
	var b []byte
	for {
		part, more, err := p.in.ReadLine()
		if err != nil {
			return string(b), err
		}
		if len(b) < maxDiffLine {
			b = append(b, part[:min(len(part), maxDiffLine-len(b))]...)
		}
		if !more {
			return string(b), nil
		}
	}
}

// patch reads a line outside of hunks.
func (p *patches) patch(c *change, line string) error {
	switch {
	case strings.HasPrefix(line, "diff "):
		p.file = ""
	case strings.HasPrefix(line, "+++ b/"):
		p.file = ""
		if name := strings.TrimSuffix(line[len("+++ b/"):], "\t"); p.known[name] {
			p.file, p.taken = name, 0
			if !slices.Contains(c.files, name) {
				c.files = append(c.files, name)
			}
		}
	case strings.HasPrefix(line, "@@ "):
		return p.hunk(c, line)
	}
	return nil
}

// hunk reads the number of lines announced in the head of a hunk, whatever their content.
func (p *patches) hunk(c *change, head string) error {
	f := strings.Fields(head)
	if len(f) < 4 {
		return errPatch
	}
	removed, err := lineCount(f[1], "-")
	added, err2 := lineCount(f[2], "+")
	if err != nil || err2 != nil {
		return errors.Join(errPatch, err, err2)
	}
	for removed > 0 || added > 0 {
		line, err := p.line()
		if err != nil {
			return errors.Join(errPatch, err)
		}
		switch {
		case strings.HasPrefix(line, "-"):
			removed--
		case strings.HasPrefix(line, "+"):
			added--
			if text := line[1:]; p.file != "" && len(c.added) < maxAdded && p.taken < maxPerFile && hasContent(text) {
				c.added += text + "\n"
				p.taken += len(text) + 1
			}
		case !strings.HasPrefix(line, `\`):
			return errPatch
		}
	}
	return nil
}

// lineCount parses the count in "-12,3" or "+7"; without a count it is 1.
func lineCount(s, sign string) (int, error) {
	rest, ok := strings.CutPrefix(s, sign)
	if !ok {
		return 0, fmt.Errorf("%q in the head of a hunk", s)
	}
	_, count, given := strings.Cut(rest, ",")
	if !given {
		return 1, nil
	}
	n, err := strconv.Atoi(count)
	if err == nil && n < 0 {
		err = strconv.ErrRange
	}
	return n, err
}
