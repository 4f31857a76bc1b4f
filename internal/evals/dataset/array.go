package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"

	"github.com/kenlayer/ken"
)

// elements yields the objects of a file that is one JSON array, or an object with
// the array under "data". One object is in memory at a time. The index counts
// from 0.
func elements[T any](ctx context.Context, path string) iter.Seq2[element[T], error] {
	return func(yield func(element[T], error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(element[T]{}, unreadable(path, err))
			return
		}
		defer f.Close()
		for e, err := range elementsIn[T](f, filepath.Base(path)) {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// element is one object of the array, and where it stands.
type element[T any] struct {
	file  string
	index int
	value T
}

// fault is an error inside this element.
func (e *element[T]) fault(field, msg, try string) error {
	if field != "" {
		field = "." + field
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: "[" + strconv.Itoa(e.index) + "]" + field, Msg: e.file + ": " + msg, Try: try}
}

// turns yields the records that of makes of each object of such a file.
func turns[T any](ctx context.Context, path string, of func(*element[T]) ([]Record, error)) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for e, err := range elements[T](ctx, path) {
			var records []Record
			if err == nil {
				records, err = of(&e)
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			for _, r := range records {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

func elementsIn[T any](r io.Reader, name string) iter.Seq2[element[T], error] {
	return func(yield func(element[T], error) bool) {
		d := json.NewDecoder(r)
		if err := enter(d); err != nil {
			yield(element[T]{}, broken(name, d, err))
			return
		}
		for i := 0; d.More(); i++ {
			e := element[T]{file: name, index: i}
			if err := d.Decode(&e.value); err != nil {
				field, msg := explain(err)
				yield(e, e.fault(field, msg+" (byte "+strconv.FormatInt(d.InputOffset(), 10)+")", "Check that the file is complete."))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if _, err := d.Token(); err != nil { // the array's end: a file may have been cut off
			yield(element[T]{}, broken(name, d, err))
		}
	}
}

// enter moves to the first element of the array.
func enter(d *json.Decoder) error {
	tok, err := d.Token()
	if err != nil {
		return err
	}
	switch tok {
	case json.Delim('['):
		return nil
	case json.Delim('{'):
	default:
		return errNoArray
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if key != "data" {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return err
			}
			continue
		}
		if tok, err = d.Token(); err != nil {
			return err
		}
		if tok == json.Delim('[') {
			return nil
		}
		return errNoArray
	}
	return errNoArray
}

var errNoArray = errors.New("there is no array of objects")

func broken(name string, d *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: "data", Msg: fmt.Sprintf("%s, byte %d: not a JSON array of objects", name, d.InputOffset()), Err: err,
		Try: "Check that this is the right file, and that it is complete."}
}
