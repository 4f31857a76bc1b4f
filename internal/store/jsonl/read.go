package jsonl

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// MaxLine is the length of the longest line that is read, in bytes, without its
// end.
const MaxLine = 16 << 20

// Line is one line of a file.
type Line struct {
	N       int              // its number, from 1
	Claim   ken.Claim        // valid when Err is nil
	History []ken.ClaimEvent // its life in the store that wrote it
	// Err says why the line can't be used: a *ken.Error with Field set where one
	// field is at fault. Any other error is the reader's own and ends the
	// sequence.
	Err error
}

// Read yields the lines of r that are not blank, as they come. name is the
// file's, for the evidence of claims that bring none. A byte order mark and
// Windows line ends are accepted. Only one line is in memory at a time.
func Read(r io.Reader, name string) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		br := bufio.NewReaderSize(r, 64<<10)
		for n := 1; ; n++ {
			text, size, err := readLine(br)
			if err != nil && err != io.EOF {
				yield(Line{N: n, Err: fmt.Errorf("read %s, line %d: %w", name, n, err)})
				return
			}
			if n == 1 {
				text = bytes.TrimPrefix(text, []byte("\ufeff"))
			}
			text = bytes.TrimSpace(text)
			l := Line{N: n}
			switch {
			case size > MaxLine:
				l.Err = tooLong(size)
			case len(text) > 0:
				l.Claim, l.History, l.Err = parse(text, name, n)
			}
			if (size > MaxLine || len(text) > 0) && !yield(l) {
				return
			}
			if err == io.EOF {
				return
			}
		}
	}
}

// readLine reads up to the next line feed and returns the line without its end,
// and how long it is. Of a line that is too long it keeps nothing.
func readLine(br *bufio.Reader) (text []byte, size int, err error) {
	for {
		chunk, err := br.ReadSlice('\n')
		size += len(chunk)
		if size <= MaxLine+2 {
			text = append(text, chunk...)
		} else {
			text = nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		end := len(text) - len(bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r")))
		return text[:len(text)-end], size - end, err
	}
}

// parse reads one line.
func parse(text []byte, name string, n int) (ken.Claim, []ken.ClaimEvent, error) {
	c := ken.Claim{Kind: ken.KindFact, Status: ken.StatusObserved, Confidence: 1, Importance: 0.5}
	if !utf8.Valid(text) {
		return c, nil, invalid("", "the line is not valid UTF-8", "Convert the file to UTF-8 first.")
	}
	var history []ken.ClaimEvent
	if err := readClaim(text, &c, &history); err != nil {
		return c, nil, err
	}
	if len(c.Evidence) == 0 {
		e := ken.FromArtifact("import:"+name+":"+strconv.Itoa(n), name)
		e.Line = n
		c.Evidence = []ken.Evidence{e}
	}
	if err := c.Validate(); err != nil {
		return c, nil, err
	}
	return c, history, nil
}

func tooLong(size int) error {
	return invalid("", fmt.Sprintf("the line has %d bytes; at most %d are read", size, MaxLine),
		"Split the claim into statements, or put the file into the repository and index it.")
}

func invalid(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}
