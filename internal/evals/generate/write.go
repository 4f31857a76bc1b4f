package generate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/retriever/knownitem"
)

// aboutFile describes a set, and marks its folder as one that Write may replace.
const aboutFile = "generated.json"

// about is the content of aboutFile.
type about struct {
	By        string                 `json:"by"`
	Seed      uint64                 `json:"seed"`
	Model     string                 `json:"model,omitempty"`
	Records   int                    `json:"records"`
	Questions map[knownitem.Kind]int `json:"questions"`
}

// Write writes the set as a folder in BEIR's layout: corpus.jsonl, queries.jsonl and
// qrels/test.tsv. Questions without an answer have no line in the last. The folder is
// written atomically, is only readable by its user, and is excluded from version
// control, because it contains the knowledge itself. An earlier folder of Write is
// replaced; any other folder that is not empty is refused with ErrExists.
func (s *Set) Write(ctx context.Context, dir string) (err error) {
	if err := replaceable(dir); err != nil {
		return err
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return cannotWrite(err)
	}
	tmp, err := os.MkdirTemp(parent, ".ken-eval-") // only readable by its user
	if err != nil {
		return cannotWrite(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := os.Mkdir(filepath.Join(tmp, "qrels"), 0o700); err != nil {
		return cannotWrite(err)
	}
	for name, fill := range map[string]func(io.Writer) error{
		"corpus.jsonl":   func(w io.Writer) error { return s.corpus(ctx, w) },
		"queries.jsonl":  s.queries,
		"qrels/test.tsv": s.qrels,
		aboutFile: func(w io.Writer) error {
			return lines(w)(about{"ken eval generate", s.o.Seed, s.Model, s.Records, s.Counts()})
		},
		".gitignore": func(w io.Writer) error { _, err := io.WriteString(w, "*\n"); return err },
	} {
		if err := writeFile(filepath.Join(tmp, filepath.FromSlash(name)), fill); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return cannotWrite(err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return cannotWrite(err)
	}
	return nil
}

// replaceable returns an error for a folder that contains anything that Write did not
// create.
func replaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0:
		return nil
	case err != nil:
		return cannotWrite(err)
	}
	made := map[string]bool{"corpus.jsonl": true, "queries.jsonl": true, "qrels": true, aboutFile: true, ".gitignore": true}
	marked := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == aboutFile })
	if !marked || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !made[e.Name()] }) {
		return &ken.Error{Code: ken.CodeExists, Field: "--out", Msg: dir + " is not empty, and not a set that ken eval generate made",
			Try: "Name another folder, or empty this one."}
	}
	return nil
}

func cannotWrite(err error) error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "--out", Msg: "write the set", Err: err, Try: "Check the folder and its permissions."}
}

func writeFile(path string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	return errors.Join(fill(w), w.Flush(), f.Close())
}

// lines returns a function that writes values as JSON lines.
func lines(w io.Writer) func(v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode
}

// record is a line of corpus.jsonl.
type record struct {
	ID       string `json:"_id"`
	Title    string `json:"title"`
	Text     string `json:"text"`
	Metadata struct {
		Date   string   `json:"date,omitempty"`
		Kind   ken.Kind `json:"kind"`
		Key    string   `json:"key,omitempty"`
		Source string   `json:"source,omitempty"`
	} `json:"metadata"`
}

// corpus writes every record. A record that a question is about is masked: see
// knownitem.Question.Mask.
func (s *Set) corpus(ctx context.Context, w io.Writer) error {
	asked := map[string]knownitem.Question{}
	for _, q := range s.Questions {
		if q.Want != "" {
			asked[q.Want] = q
		}
	}
	write := lines(w)
	n := 0
	for c, err := range counted(ctx, s.src, "write", s.o.Progress) {
		if err != nil {
			return err
		}
		if q, ok := asked[c.ID]; ok {
			c = q.Mask(c)
			delete(asked, c.ID)
		}
		r := record{ID: c.ID, Title: c.Heading, Text: c.Text}
		r.Metadata.Kind, r.Metadata.Key, r.Metadata.Source = c.Kind, c.Key, c.Source
		if !c.CreatedAt.IsZero() {
			r.Metadata.Date = c.CreatedAt.UTC().Format(time.RFC3339)
		}
		if err := write(r); err != nil {
			return err
		}
		n++
	}
	if len(asked) > 0 || n != s.Records {
		return &ken.Error{Code: ken.CodeUnavailable, Msg: "the knowledge changed meanwhile", Try: "Try again while nothing is written."}
	}
	return nil
}

func id(i int) string { return fmt.Sprintf("q%04d", i+1) }

func (s *Set) queries(w io.Writer) error {
	write := lines(w)
	for i, q := range s.Questions {
		type metadata struct {
			Category knownitem.Kind `json:"category"`
			Source   string         `json:"source,omitempty"` // type of the record that it is about
		}
		if err := write(struct {
			ID       string   `json:"_id"`
			Text     string   `json:"text"`
			Metadata metadata `json:"metadata"`
		}{id(i), q.Text, metadata{q.Kind, q.Source}}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) qrels(w io.Writer) error {
	rows := "query-id\tcorpus-id\tscore\n"
	for i, q := range s.Questions {
		if q.Want != "" {
			rows += fmt.Sprintf("%s\t%s\t1\n", id(i), q.Want)
		}
	}
	_, err := io.WriteString(w, rows)
	return err
}
