package jsonl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// MaxLine is the maximum length of a line in bytes, without its line end.
const MaxLine = 16 << 20

// Line is one line of a file.
type Line struct {
	N       int              // line number, from 1
	Claim   ken.Claim        // valid when Err is nil
	History []ken.ClaimEvent // history in the store that exported it
	Raw     []byte           // the text without its line end; nil for a line that is too long
	Assumed bool             // the line has no evidence, so the line itself is the claim's evidence
	// Err says why the line can't be used: a *ken.Error, with Field set where one field is wrong. Any
	// other error comes from the reader and ends the sequence.
	Err error
}

// Read yields the lines of r that are not blank, in order. name is the file's name, for the evidence
// of claims without evidence. A byte order mark and Windows line ends are accepted. Only one line is
// in memory at a time.
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
				l = Parse(text, name, n)
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

// readLine reads up to the next line feed. It returns the line without its end, and its length. The
// text of a line that is too long is discarded.
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

// Parse reads one line, the nth of the file called name.
func Parse(text []byte, name string, n int) Line {
	l := Line{N: n, Raw: text}
	l.Claim, l.History, l.Assumed, l.Err = parse(text, name, n)
	return l
}

func parse(text []byte, name string, n int) (c ken.Claim, history []ken.ClaimEvent, assumed bool, err error) {
	c = ken.Claim{Kind: ken.KindFact, Status: ken.StatusObserved, Confidence: 1, Importance: 0.5}
	if !utf8.Valid(text) {
		return c, nil, false, invalid("", "the line is not valid UTF-8", "Convert the file to UTF-8 first.")
	}
	if err := readClaim(text, &c, &history); err != nil {
		return c, nil, false, err
	}
	if assumed = len(c.Evidence) == 0; assumed {
		c.Evidence = []ken.Evidence{FromLine(name, n)}
	}
	if err := c.Validate(); err != nil {
		return c, nil, assumed, err
	}
	return c, history, assumed, nil
}

// FromLine returns the evidence for a claim whose only evidence is the nth line of the file called
// name.
func FromLine(name string, n int) ken.Evidence {
	e := ken.FromArtifact("import:"+name+":"+strconv.Itoa(n), name)
	e.Line = n
	return e
}

func tooLong(size int) error {
	return invalid("", fmt.Sprintf("the line has %d bytes; at most %d are read", size, MaxLine),
		"Split the claim into statements, or put the file into the repository and index it.")
}

func invalid(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}

// set decodes a JSON value into target, which is one of the pointer types in the tables of claim.go.
// null leaves it unchanged.
func set(path string, raw []byte, target any) error {
	if isNull(raw) {
		return nil
	}
	switch t := target.(type) {
	case *string:
		return scalar(path, "a string", raw, t)
	case *bool:
		return scalar(path, "true or false", raw, t)
	case *float64:
		return scalar(path, "a number", raw, t)
	case *int:
		return scalar(path, "a whole number", raw, t)
	case *uint64:
		return scalar(path, "a whole number from 0", raw, t)
	case **int:
		*t = new(int)
		return scalar(path, "a whole number", raw, *t)
	case *ken.Trust:
		var name string
		if err := scalar(path, "a string", raw, &name); err != nil {
			return err
		}
		if err := t.UnmarshalText([]byte(name)); err != nil {
			return invalid(path, "unknown value "+name, ken.Hint(err))
		}
		return nil
	case *time.Time:
		return setTime(path, raw, t)
	case *json.RawMessage:
		*t = append(json.RawMessage{}, raw...)
		return nil
	case *[]string:
		return list(path, raw, func(path string, raw []byte) error {
			var s string
			err := scalar(path, "a string", raw, &s)
			*t = append(*t, s)
			return err
		})
	case *ken.Scope:
		return object(path, raw, map[string]any{"type": (*string)(&t.Type), "id": &t.ID})
	case *ken.Actor:
		return object(path, raw, map[string]any{"type": &t.Type, "id": &t.ID})
	case *[]ken.Evidence:
		return objects(path, raw, t, evidenceTargets)
	case *[]ken.ClaimEvent:
		return objects(path, raw, t, eventTargets)
	}
	panic(fmt.Sprintf("jsonl: no reader for %T", target))
}

// objects decodes a list of objects.
func objects[T any](path string, raw []byte, into *[]T, targets func(*T) map[string]any) error {
	return list(path, raw, func(path string, raw []byte) error {
		var v T
		err := object(path, raw, targets(&v))
		*into = append(*into, v)
		return err
	})
}

func scalar(path, want string, raw []byte, target any) error {
	if isNull(raw) || json.Unmarshal(raw, target) != nil {
		return mismatch(path, want, raw)
	}
	return nil
}

const timeForms = "an RFC 3339 time, a date, or a number of seconds since 1970"

func setTime(path string, raw []byte, t *time.Time) error {
	switch kindOf(raw) {
	case "a string":
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return mismatch(path, timeForms, raw)
		}
		if s == "" {
			return nil
		}
		for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
			if at, err := time.Parse(layout, s); err == nil {
				*t = at.UTC()
				return nil
			}
		}
		return invalid(path, "unknown time "+s, "Write "+timeForms+": 2026-03-14T09:00:00Z, 2026-03-14 or 1773478800.")
	case "a number":
		var seconds float64
		if err := json.Unmarshal(raw, &seconds); err != nil {
			return mismatch(path, timeForms, raw)
		}
		return fromSeconds(path, raw, seconds, t)
	}
	return mismatch(path, timeForms, raw)
}

// fromSeconds keeps microseconds: a float64 has no higher precision for current times.
func fromSeconds(path string, raw []byte, seconds float64, t *time.Time) error {
	const end = 253402300800 // year 10000, in seconds
	if seconds < 0 || seconds >= end {
		return invalid(path, string(raw)+" is no number of seconds since 1970",
			"Write seconds, not milliseconds, or an RFC 3339 time.")
	}
	if seconds == 0 {
		return nil
	}
	whole, frac := math.Modf(seconds)
	*t = time.Unix(int64(whole), int64(math.Round(frac*1e6))*1e3).UTC()
	return nil
}
