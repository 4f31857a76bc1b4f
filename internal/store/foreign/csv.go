package foreign

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/jsonl"
)

// columns are alternative names of the column with the claim's text.
var columns = []string{"memory", "fact", "content", "note", "statement"}

// csv reads a table with a header line. A column with the name of a claim's field sets that
// field; other columns go into the body. Lists are separated by semicolons.
func (out *output) csv(text string) {
	r := csv.NewReader(strings.NewReader(text))
	head, _, _ := strings.Cut(text, "\n")
	for _, comma := range ";\t" {
		if strings.Count(head, string(comma)) > strings.Count(head, string(r.Comma)) {
			r.Comma = comma
		}
	}
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	names, err := r.Read()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			out.fail(1, tableError(err), nil)
		}
		return
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	if !slices.Contains(names, "text") {
		i := slices.IndexFunc(names, func(name string) bool { return slices.Contains(columns, strings.ToLower(name)) })
		if i < 0 {
			out.fail(1, invalid("text", "the table has no column of that name", "Call the column with the statement text. The columns are: "+strings.Join(names, ", ")+"."), nil)
			return
		}
		names[i] = "text"
	}
	for i, name := range names {
		if name != "" && slices.Contains(names[:i], name) {
			out.fail(1, invalid(name, "two columns have this name", "Rename one of them."), nil)
			return
		}
	}
	open := unclosed(text, r.Comma)
	for !out.ended {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			out.fail(1, tableError(err), nil)
			return
		}
		line, _ := r.FieldPos(0)
		if line == open {
			out.fail(line, tableError(csv.ErrQuote), nil)
			return
		}
		out.row(line, names, row)
	}
}

// unclosed returns the line of a row that a missing quotation mark extends to the end of the table;
// 0 if there is none.
func unclosed(text string, comma rune) int {
	lines := strings.Split(text, "\n")
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = comma, -1, true
	for {
		_, err := r.Read()
		e, ok := errors.AsType[*csv.ParseError](err)
		switch {
		case ok && errors.Is(e.Err, csv.ErrQuote) && e.Line <= len(lines) && e.Column > len(lines[e.Line-1]):
			return e.StartLine
		case err != nil && !ok:
			return 0
		}
	}
}

func tableError(err error) error {
	return &ken.Error{Code: ken.CodeInvalid, Msg: "the table can't be read", Err: err, Try: "Close its quotation marks, or save it as CSV again."}
}

// row converts a row to the equivalent JSON line.
func (out *output) row(line int, names, row []string) {
	fields := map[string]any{}
	for i, value := range row {
		if value = strings.TrimSpace(value); value == "" {
			continue
		}
		if i >= len(names) || names[i] == "" {
			raw, _ := json.Marshal(map[string]any{"text": strings.Join(row, " ")}) // strings can't fail
			out.fail(line, invalid("", "more cells than columns", "Put quotation marks around cells that hold the separator."), raw)
			return
		}
		fields[names[i]] = cell(names[i], value)
	}
	if len(fields) == 0 {
		return
	}
	raw, _ := json.Marshal(fields) // strings, numbers and lists can't fail
	it := Item{Line: jsonl.Parse(raw, out.o.Name, line)}
	if it.Err == nil {
		c := &it.Claim
		if c.Key == "" && c.ID == "" {
			c.Key = contentKey("csv", string(c.Kind), c.Text, c.Project, c.Scope.String())
		}
		it.vouch(out.o)
	}
	out.give(it)
}

// cell converts a cell to the JSON value for its column.
func cell(name, value string) any {
	switch name {
	case "tags", "entities":
		var list []string
		for v := range strings.SplitSeq(value, ";") {
			if v = strings.TrimSpace(v); v != "" {
				list = append(list, v)
			}
		}
		return list
	case "confidence", "importance":
		if f, err := strconv.ParseFloat(value, 64); err == nil && f >= 0 && f <= 1 {
			return f
		}
	case "constraint", "rule_candidate":
		if b, err := strconv.ParseBool(strings.ToLower(value)); err == nil {
			return b
		}
	case "evidence", "body", "scope", "actor", "history":
		if json.Valid([]byte(value)) {
			return json.RawMessage(value)
		}
	}
	return value
}
