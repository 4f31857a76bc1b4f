package dataset

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// maxLine is the longest line that is read, in bytes.
const maxLine = 16 << 20

// line is a line of a file that is not blank.
type line struct {
	file string // without its folder
	n    int    // from 1
	text []byte // valid until the next line
}

// fault is an error at this line. field may be empty.
func (l *line) fault(field, msg, try string) error { return at(l.file, l.n, field, msg, try) }

func at(file string, n int, field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: file + ", line " + strconv.Itoa(n) + ": " + msg, Try: try}
}

// place names the line.
func (l *line) place() string { return l.file + ":" + strconv.Itoa(l.n) }

// decode reads the line's JSON object into v.
func (l *line) decode(v any) error {
	err := json.Unmarshal(l.text, v)
	if err == nil {
		return nil
	}
	field, msg := explain(err)
	return l.fault(field, msg, "Correct the line: one JSON object a line.")
}

// explain puts an error of encoding/json into words, with the field at fault.
func explain(err error) (field, msg string) {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return kind.Field, "a " + kind.Value + " where " + kind.Type.String() + " belongs"
	}
	return "", "not valid JSON: " + err.Error()
}

// linesOf yields the lines of a file that are not blank, and ends at ctx's end.
func linesOf(ctx context.Context, path string) iter.Seq2[*line, error] {
	return func(yield func(*line, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(nil, unreadable(path, err))
			return
		}
		defer f.Close()
		for l, err := range linesIn(f, filepath.Base(path)) {
			if ctx.Err() != nil {
				l, err = nil, ctx.Err()
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

func linesIn(r io.Reader, name string) iter.Seq2[*line, error] {
	return func(yield func(*line, error) bool) {
		sc := bufio.NewScanner(r)
		sc.Buffer(make([]byte, 64<<10), maxLine)
		l := &line{file: name}
		for sc.Scan() {
			l.n++
			text := sc.Bytes()
			if l.n == 1 {
				text = bytes.TrimPrefix(text, []byte("\ufeff"))
			}
			if l.text = bytes.TrimSpace(text); len(l.text) == 0 {
				continue
			}
			if !utf8.Valid(l.text) {
				yield(nil, l.fault("", "not valid UTF-8", "Convert the file to UTF-8 first."))
				return
			}
			if !yield(l, nil) {
				return
			}
		}
		if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
			yield(nil, at(name, l.n+1, "", fmt.Sprintf("longer than %d bytes", maxLine), "Split the record."))
		} else if err != nil {
			yield(nil, fmt.Errorf("read %s: %w", name, err))
		}
	}
}

// word is a JSON string, or a number or boolean taken as one: ids and categories
// are written either way. null is "".
type word string

// UnmarshalJSON refuses arrays and objects.
func (w *word) UnmarshalJSON(b []byte) error {
	switch {
	case string(b) == "null":
		*w = ""
	case len(b) > 0 && b[0] == '"':
		return json.Unmarshal(b, (*string)(w))
	case len(b) > 0 && (b[0] == '[' || b[0] == '{'):
		return errWord
	default:
		*w = word(b)
	}
	return nil
}

var errWord = errors.New("a list or an object where text or a number belongs")
