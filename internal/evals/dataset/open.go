package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
)

// Options says which part of a set to read; the zero value is the usual choice.
type Options struct {
	// Split is the qrels file of a BEIR folder to read, without its extension. Default
	// test, if there is a test.tsv, else every file.
	Split string
	// Questions is a file to read instead of the set's own questions, as lines that
	// contain the relevant ids.
	Questions string
	// Judged leaves out questions without judgements.
	Judged bool
	// Level overrides what counts as found. With LevelSession, any record of a relevant
	// record's session counts. Default: the set's level.
	Level Level
}

// Open reads the questions of the set in a folder or file, and prepares to stream its
// records. Errors are *ken.Error: ErrNotFound for a path that does not exist,
// ErrInvalid for an unknown layout and for a line that can't be used.
func Open(ctx context.Context, path string, o Options) (*Set, error) {
	if o.Level != "" && o.Level != LevelRecord && o.Level != LevelSession {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "level", Msg: fmt.Sprintf("unknown level %q", o.Level), Try: "Use record or session."}
	}
	s, err := open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	if s.Name = filepath.Base(path); s.Name == "." || s.Name == ".." {
		if abs, err := filepath.Abs(path); err == nil {
			s.Name = filepath.Base(abs)
		}
	}
	if o.Judged {
		s.Queries = slices.DeleteFunc(s.Queries, func(q Query) bool { return !q.Answerable() })
	}
	if o.Level == LevelSession {
		for i := range s.Queries {
			s.Queries[i].Level = LevelSession
		}
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(s.Queries, func(q Query) bool { return q.Judged }) {
		s.Notes = append(s.Notes, "the set says of no question what is relevant, so only latency is measured")
	}
	return s, nil
}

func open(ctx context.Context, path string, o Options) (*Set, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeNotFound, Field: "data", Msg: "open data set", Err: err, Try: "Check the path."}
	}
	if !info.IsDir() {
		return openFile(ctx, path, o)
	}
	at := func(name string) string { return filepath.Join(path, name) }
	if exists(at(corpusFile)) {
		return openBEIR(ctx, path, o)
	}
	lines, arrays, err := list(path)
	if err != nil {
		return nil, err
	}
	lines = slices.DeleteFunc(lines, func(name string) bool { return name == queriesFile })
	switch {
	case len(lines) == 1 && (exists(at(queriesFile)) || o.Questions != ""):
		return openClaims(ctx, at(lines[0]), at(queriesFile), o)
	case len(lines) == 0 && len(arrays) == 1:
		return openFile(ctx, at(arrays[0]), o)
	}
	return nil, unknownLayout(path)
}

// openFile opens a single file, and detects its format from its beginning.
func openFile(ctx context.Context, path string, o Options) (*Set, error) {
	if strings.HasSuffix(path, ".jsonl") {
		if o.Questions == "" {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: "data", Msg: path + " holds claims, and no questions are given",
				Try: "Give a file of questions, or put it as queries.jsonl beside the claims and give the folder."}
		}
		return openClaims(ctx, path, o.Questions, o)
	}
	head, err := beginning(path)
	if err != nil {
		return nil, err
	}
	switch formatOf(head) {
	case FormatLongMemEval:
		return openLongMemEval(ctx, path, o)
	case FormatLoCoMo:
		return openLoCoMo(ctx, path, o)
	}
	return nil, unknownLayout(path)
}

// beginning returns the start of a file, enough to see the names of its first fields. A
// LoCoMo file starts with a conversation's questions, a LongMemEval file with a
// question or its source.
func beginning(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, unreadable(path, err)
	}
	return head[:n], nil
}

// list returns the .jsonl and .json files directly in a folder.
func list(dir string) (lines, arrays []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, unreadable(dir, err)
	}
	for _, e := range entries {
		switch {
		case e.IsDir():
		case strings.HasSuffix(e.Name(), ".jsonl"):
			lines = append(lines, e.Name())
		case strings.HasSuffix(e.Name(), ".json"):
			arrays = append(arrays, e.Name())
		}
	}
	return lines, arrays, nil
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

func unknownLayout(path string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: "data", Msg: path + " is no data set that Ken can read",
		Try: "Give a folder with corpus.jsonl, queries.jsonl and qrels/, a LoCoMo or LongMemEval JSON file, or a folder with an export of claims and queries.jsonl."}
}

func unreadable(path string, err error) error {
	e := &ken.Error{Code: ken.CodeNotFound, Field: "data", Msg: "read " + filepath.Base(path), Err: err, Try: "Check the path and its permissions."}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		e.Code = ken.CodeUnavailable
	}
	return e
}

// check validates the set as a whole, and determines whether it is scoped.
func (s *Set) check() error {
	seen := make(map[string]bool, len(s.Queries))
	first := map[bool]string{}
	for i := range s.Queries {
		q := &s.Queries[i]
		if seen[q.ID] {
			return &ken.Error{Code: ken.CodeInvalid, Field: "_id", Msg: fmt.Sprintf("two questions have the id %q", q.ID), Try: "Give every question an id of its own."}
		}
		seen[q.ID] = true
		if _, ok := first[q.Conv != ""]; !ok {
			first[q.Conv != ""] = q.ID
		}
	}
	if len(first) == 2 {
		return &ken.Error{Code: ken.CodeInvalid, Field: "metadata.conv",
			Msg: fmt.Sprintf("question %q names a conversation and %q does not", first[true], first[false]),
			Try: "Give every question its conv, or none."}
	}
	if len(s.Queries) == 0 {
		return &ken.Error{Code: ken.CodeInvalid, Field: "data", Msg: "there are no questions in " + s.Name, Try: "Check the folder, the split, and the questions' file."}
	}
	_, s.Scoped = first[true]
	return nil
}

// Find returns the sets at a path: the path itself, or, if it is a folder but no set,
// the sets directly in it, by name. ErrInvalid when there are none.
func Find(path string) ([]string, error) {
	if isSet(path) {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	var out []string
	for _, e := range entries {
		if sub := filepath.Join(path, e.Name()); e.IsDir() && isSet(sub) {
			out = append(out, sub)
		}
	}
	if len(out) == 0 {
		return nil, unknownLayout(path)
	}
	return out, nil
}

// isSet reports whether Open would try to read a path, without reading its lines.
func isSet(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return err == nil
	}
	if exists(filepath.Join(path, corpusFile)) {
		return true
	}
	lines, arrays, err := list(path)
	if err != nil {
		return false
	}
	if len(arrays) == 1 && len(lines) == 0 {
		head, err := beginning(filepath.Join(path, arrays[0]))
		return err == nil && formatOf(head) != ""
	}
	return len(lines) == 2 && slices.Contains(lines, queriesFile)
}

// formatOf returns a JSON file's format, determined from its beginning; "" for none.
func formatOf(head []byte) Format {
	switch {
	case bytes.Contains(head, []byte(`"haystack_`)), bytes.Contains(head, []byte(`"question_type"`)):
		return FormatLongMemEval
	case bytes.Contains(head, []byte(`"qa"`)) && bytes.Contains(head, []byte(`"evidence"`)), bytes.Contains(head, []byte(`"dia_id"`)):
		return FormatLoCoMo
	}
	return ""
}
