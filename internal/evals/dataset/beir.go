package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// Names of the files of a BEIR folder.
const (
	corpusFile  = "corpus.jsonl"
	queriesFile = "queries.jsonl"
	qrelsDir    = "qrels"
)

// openBEIR reads the layout of the BEIR benchmark (Thakur et al. 2021), with the
// metadata that Ken adds: conv, session, date, role and speaker.
func openBEIR(ctx context.Context, dir string, o Options) (*Set, error) {
	s := &Set{Format: FormatBEIR, records: func(ctx context.Context) iter.Seq2[Record, error] {
		return corpus(ctx, filepath.Join(dir, corpusFile))
	}}
	if o.Questions != "" {
		return s.asking(ctx, o.Questions)
	}
	asked, err := Questions(ctx, filepath.Join(dir, queriesFile))
	if err != nil {
		return nil, err
	}
	judged, others, err := qrels(ctx, filepath.Join(dir, qrelsDir), o.Split)
	if err != nil {
		return nil, err
	}
	strangers := len(judged)
	for _, q := range asked {
		if _, ok := judged[q.ID]; ok {
			strangers--
		}
		switch relevant, ok := judged[q.ID]; {
		case ok:
			q.Relevant, q.Judged = positive(relevant), true
		case others[q.ID] && !q.Judged: // a question of another split
			continue
		case len(judged) > 0:
			q.Judged = true
		}
		s.Queries = append(s.Queries, q)
	}
	switch {
	case strangers > 0 && strangers == len(judged) && len(asked) > 0:
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: qrelsDir, Msg: "none of the questions that are judged is in " + queriesFile,
			Try: "Check the columns: question, record, score."}
	case strangers > 0:
		s.Notes = append(s.Notes, fmt.Sprintf("questions that are judged, and not in %s: %d", queriesFile, strangers))
	}
	s.Notes = append(s.Notes, noteUnjudged(s.Queries)...)
	return s, nil
}

// noteUnjudged returns a warning if queries.jsonl contains questions of another split.
func noteUnjudged(queries []Query) []string {
	none := 0
	for i := range queries {
		if queries[i].NoAnswer() {
			none++
		}
	}
	if 2*none <= len(queries) {
		return nil
	}
	return []string{"more than half of the questions have no relevant record and count as having no answer; leave them out with --judged if they belong to another split"}
}

// positive returns the grades above 0: a grade of 0 means that a record was judged and
// is not relevant.
func positive(grades map[string]int) map[string]int {
	out := make(map[string]int, len(grades))
	for id, g := range grades {
		if g > 0 {
			out[id] = g
		}
	}
	return out
}

// corpusLine is one line of corpus.jsonl.
type corpusLine struct {
	ID       word   `json:"_id"`
	Title    string `json:"title"`
	Text     string `json:"text"`
	Metadata struct {
		Conv    word `json:"conv"`
		Session word `json:"session"`
		Date    word `json:"date"`
		Role    word `json:"role"`
		Speaker word `json:"speaker"`
	} `json:"metadata"`
}

func corpus(ctx context.Context, path string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for l, err := range linesOf(ctx, path) {
			var r Record
			if err == nil {
				r, err = l.record()
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func (l *line) record() (Record, error) {
	var c corpusLine
	if err := l.decode(&c); err != nil {
		return Record{}, err
	}
	if c.ID == "" {
		return Record{}, l.fault("_id", "is missing", "Give every record an id.")
	}
	m := &c.Metadata
	when, err := ParseTime(string(m.Date))
	if err != nil {
		return Record{}, l.fault("metadata.date", err.Error(), "Write the date as 2006-01-02T15:04:05Z, or leave it out.")
	}
	// If there is only a title, it is the record's text.
	heading, text := c.Title, c.Text
	if strings.TrimSpace(text) == "" {
		heading, text = "", cmp.Or(c.Title, c.Text)
	}
	return Record{ID: string(c.ID), Conv: string(m.Conv), Session: string(m.Session), Heading: heading, Text: text,
		Role: string(m.Role), Speaker: string(m.Speaker), At: when, Place: l.place()}, nil
}

// qrels reads the judgements of a split: grades by question and record, and the
// questions that only other splits judge. Without a folder, there are no judgements.
func qrels(ctx context.Context, dir, split string) (judged map[string]map[string]int, others map[string]bool, err error) {
	names, err := splits(dir)
	if err != nil {
		return nil, nil, err
	}
	if split == "" && slices.Contains(names, "test") {
		split = "test"
	}
	if split != "" && !slices.Contains(names, split) {
		return nil, nil, &ken.Error{Code: ken.CodeInvalid, Field: "split", Msg: "there is no qrels/" + split + ".tsv", Try: "Use one of: " + strings.Join(names, ", ") + "."}
	}
	judged, others = map[string]map[string]int{}, map[string]bool{}
	for _, name := range names {
		into := judged
		if split != "" && name != split {
			into = map[string]map[string]int{}
		}
		if err := judgements(linesOf(ctx, filepath.Join(dir, name+".tsv")), into); err != nil {
			return nil, nil, err
		}
		for id := range into {
			others[id] = true
		}
	}
	return judged, others, nil
}

func splits(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(dir, err)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".tsv"); ok && !e.IsDir() {
			names = append(names, name)
		}
	}
	if len(names) == 0 && len(entries) > 0 {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: qrelsDir, Msg: "no file is called .tsv, and other names are not read", Try: "Rename " + entries[0].Name() + " to test.tsv."}
	}
	return names, nil
}

// judgements reads one file: question, record and grade in three columns, or the four
// columns of TREC, whose second is unused. The first line may be a header.
func judgements(lines iter.Seq2[*line, error], into map[string]map[string]int) error {
	first := true
	for l, err := range lines {
		if err != nil {
			return err
		}
		header := first
		first = false
		cols := columns(string(l.text))
		if len(cols) == 4 {
			cols = []string{cols[0], cols[2], cols[3]}
		}
		if len(cols) != 3 {
			return l.fault("", strconv.Itoa(len(cols))+" columns; three belong there", "Write the ids of question and record and the score, with tabs between them.")
		}
		grade, err := strconv.ParseFloat(cols[2], 64)
		switch {
		case err != nil && header:
			continue
		case err != nil || grade != float64(int(grade)):
			return l.fault("score", strconv.Quote(cols[2])+" is not a whole number", "Write 0 for what is not relevant, and 1 or more for what is.")
		case cols[0] == "" || cols[1] == "":
			return l.fault("", "an id is empty", "Give both ids.")
		}
		if into[cols[0]] == nil {
			into[cols[0]] = map[string]int{}
		}
		into[cols[0]][cols[1]] = max(into[cols[0]][cols[1]], int(grade))
	}
	return nil
}

// columns splits at tabs, or at any white space if there are no tabs.
func columns(s string) []string {
	if !strings.Contains(s, "\t") {
		return strings.Fields(s)
	}
	cols := strings.Split(s, "\t")
	for i := range cols {
		cols[i] = strings.TrimSpace(cols[i])
	}
	return cols
}

// maxLine is the maximum length of a line, in bytes.
const maxLine = 16 << 20

// line is a non-blank line of a file.
type line struct {
	file string // without its folder
	n    int    // from 1
	text []byte // valid until the next line
}

// fault returns an error at this line. field may be empty.
func (l *line) fault(field, msg, try string) error { return at(l.file, l.n, field, msg, try) }

func at(file string, n int, field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: file + ", line " + strconv.Itoa(n) + ": " + msg, Try: try}
}

// place returns the file and line number.
func (l *line) place() string { return l.file + ":" + strconv.Itoa(l.n) }

// decode decodes the line's JSON object into v.
func (l *line) decode(v any) error {
	err := json.Unmarshal(l.text, v)
	if err == nil {
		return nil
	}
	field, msg := explain(err)
	return l.fault(field, msg, "Correct the line: one JSON object a line.")
}

// explain describes an error of encoding/json, with the field that is wrong.
func explain(err error) (field, msg string) {
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		value, want := "a "+kind.Value, "text"
		if kind.Value == "array" || kind.Value == "object" {
			value = "an " + kind.Value
		}
		switch kind.Type.Kind() {
		case reflect.Struct, reflect.Map:
			want = "an object"
		case reflect.Slice:
			want = "a list"
		case reflect.Bool:
			want = "true or false"
		}
		return kind.Field, value + " where " + want + " belongs"
	}
	return "", "not valid JSON: " + err.Error()
}

// reading yields what read finds in a file. It stops when ctx ends.
func reading[T any](ctx context.Context, path string, read func(r io.Reader, name string) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		f, err := os.Open(path)
		if err != nil {
			yield(none, unreadable(path, err))
			return
		}
		defer f.Close()
		for v, err := range read(f, filepath.Base(path)) {
			if ctx.Err() != nil {
				v, err = none, ctx.Err()
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// linesOf yields the non-blank lines of a file.
func linesOf(ctx context.Context, path string) iter.Seq2[*line, error] {
	return reading(ctx, path, linesIn)
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

// word is a JSON string, or a number or boolean as a string: data sets write ids and
// categories in all these forms. null is "".
type word string

// UnmarshalJSON rejects arrays and objects.
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

// Categories of questions that can be added to a set.
const (
	CategorySmallTalk = "small talk"
	CategoryNoAnswer  = "no answer"
)

//go:embed smalltalk.txt
var smallTalk string

// SmallTalk returns messages that ask for nothing that a memory could know: greetings,
// thanks, consent, and chat about nothing in particular. Nothing should be injected for
// them.
func SmallTalk() []Query {
	var out []Query
	for text := range strings.Lines(smallTalk) {
		if text = strings.TrimSpace(text); text != "" && text[0] != '#' {
			out = append(out, added(fmt.Sprintf("small-talk-%d", len(out)+1), text, CategorySmallTalk))
		}
	}
	return out
}

// NoAnswer reads questions that nothing in the set answers: plain text, one per line,
// or lines as Questions reads them, whose relevant ids are ignored. Errors name file,
// line and field.
func NoAnswer(ctx context.Context, path string) ([]Query, error) {
	var out []Query
	for l, err := range linesOf(ctx, path) {
		if err != nil {
			return nil, err
		}
		n := len(out) + 1
		q := added(fmt.Sprintf("no-answer-%d", n), string(l.text), CategoryNoAnswer)
		if l.text[0] == '{' {
			read, err := l.question()
			if err != nil {
				return nil, err
			}
			q.ID, q.Text, q.Conv, q.Category = read.ID, read.Text, read.Conv, cmp.Or(read.Category, q.Category)
		}
		out = append(out, q)
	}
	if len(out) == 0 {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "no-answer", Msg: "there are no questions in " + path, Try: "Write one question a line."}
	}
	return out, nil
}

func added(id, text, category string) Query {
	return Query{ID: id, Text: text, Category: category, Judged: true, Level: LevelRecord, Added: true}
}

// Add appends questions that nothing answers. In a scoped set, questions without a
// conversation are assigned to the conversations in turn.
func (s *Set) Add(queries ...Query) error {
	var convs []string
	seen := map[string]bool{}
	ids := map[string]bool{}
	for i := range s.Queries {
		ids[s.Queries[i].ID] = true
		if c := s.Queries[i].Conv; s.Scoped && !seen[c] {
			seen[c] = true
			convs = append(convs, c)
		}
	}
	for i, q := range queries {
		if ids[q.ID] {
			return &ken.Error{Code: ken.CodeInvalid, Field: "_id", Msg: fmt.Sprintf("two questions have the id %q", q.ID), Try: "Give every question an id of its own."}
		}
		ids[q.ID] = true
		switch {
		case !s.Scoped:
			q.Conv = ""
		case q.Conv == "":
			q.Conv = convs[i%len(convs)]
		case !seen[q.Conv]:
			return &ken.Error{Code: ken.CodeInvalid, Field: "metadata.conv", Msg: fmt.Sprintf("question %q is about %q, which no question of the set is about", q.ID, q.Conv),
				Try: "Leave conv out, or name a conversation of the set."}
		}
		s.Queries = append(s.Queries, q)
	}
	return nil
}
