package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/evals"
)

const (
	mostSweepBytes = 32 << 20 // of a report's file
	mostSweeps     = 100      // that are listed, the newest
	mostWhole      = 8        // reports that are kept in memory with each question's values
)

// sweepFile is a report that the project keeps. It is not changed once it is made.
type sweepFile struct {
	Name string // without its ending
	Size int64
	At   time.Time     // when it was written
	Head *evals.Report // without what it says of each question; nil where it can't be read
	Bad  error         // why it can't be read
}

// key names what the file held.
func (f *sweepFile) key() string { return fmt.Sprint(f.Name, "/", f.Size, "/", f.At.UnixNano()) }

// sweepFiles reads reports when they are asked for, and again when a file has changed.
// The zero value is ready; it is safe for concurrent use.
type sweepFiles struct {
	mu    sync.Mutex
	heads map[string]*sweepFile // by name
	whole []wholeSweep          // those used last at the end
}

// wholeSweep is a report with what it says of each question.
type wholeSweep struct {
	key    string
	report *evals.Report
	bad    error
}

// list returns the reports in a folder, the newest first, and how many more there are.
// A folder that is not there has none.
func (x *sweepFiles) list(dir string) (files []*sweepFile, more int, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, &ken.Error{Code: ken.CodeUnavailable, Msg: "the folder of kept reports can't be read", Err: err, Try: "Check its permissions."}
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, &sweepFile{Name: name, Size: info.Size(), At: info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b *sweepFile) int {
		if c := b.At.Compare(a.At); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	if len(files) > mostSweeps {
		files, more = files[:mostSweeps], len(files)-mostSweeps
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	heads := make(map[string]*sweepFile, len(files))
	for i, f := range files {
		if had := x.heads[f.Name]; had != nil && had.key() == f.key() {
			files[i] = had
		} else {
			f.Head, f.Bad = readHead(filepath.Join(dir, f.Name+".json"), f.Size)
		}
		heads[f.Name] = files[i]
	}
	x.heads = heads
	return files, more, nil
}

// open returns the whole of a report of the list.
func (x *sweepFiles) open(dir string, f *sweepFile) (*evals.Report, error) {
	if f.Bad != nil {
		return nil, f.Bad
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	w := wholeSweep{key: f.key()}
	if i := slices.IndexFunc(x.whole, func(had wholeSweep) bool { return had.key == w.key }); i >= 0 {
		w = x.whole[i]
		x.whole = slices.Delete(x.whole, i, i+1)
	} else {
		w.report, w.bad = readWhole(filepath.Join(dir, f.Name+".json"))
	}
	x.whole = append(x.whole, w)
	if len(x.whole) > mostWhole {
		x.whole = slices.Delete(x.whole, 0, 1)
	}
	return w.report, w.bad
}

var errSweepSize = &ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("the report is longer than %d MB", mostSweepBytes>>20),
	Try: "Compare it with ken eval compare, or sweep fewer settings at once."}

func readWhole(path string) (*evals.Report, error) {
	b, err := readSweep(path, mostSweepBytes+1)
	if err != nil {
		return nil, err
	}
	if len(b) > mostSweepBytes {
		return nil, errSweepSize
	}
	return evals.Read(bytes.NewReader(b))
}

func readSweep(path string, most int64) (b []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeUnavailable, Msg: "the report can't be read", Err: err, Try: "Check the file and its permissions."}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, most))
}

// readHead reads a report up to what it says of each question, which is nearly all of a
// file and stands last.
func readHead(path string, size int64) (r *evals.Report, err error) {
	if size > mostSweepBytes {
		return nil, errSweepSize
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeUnavailable, Msg: "the report can't be read", Err: err, Try: "Check the file and its permissions."}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return sweepHead(io.LimitReader(f, mostSweepBytes))
}

// sweepHead is the report that is read, without per_query and what follows it.
func sweepHead(rd io.Reader) (*evals.Report, error) {
	d := json.NewDecoder(rd)
	first, err := d.Token()
	switch {
	case err != nil:
		return evals.Read(strings.NewReader("")) // which says what is no report
	case first == json.Delim('['):
		return nil, &ken.Error{Code: ken.CodeInvalid, Msg: "several reports in one file", Try: "Keep each in a file of its own, as ken eval sweep --keep does."}
	case first != json.Delim('{'):
		return evals.Read(strings.NewReader(""))
	}
	fields := map[string]json.RawMessage{}
	for d.More() {
		name, err := d.Token()
		if err != nil || name == "per_query" {
			break
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return evals.Read(strings.NewReader(""))
		}
		fields[fmt.Sprint(name)] = value
	}
	b, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("read the head of a report: %w", err)
	}
	return evals.Read(bytes.NewReader(b))
}
