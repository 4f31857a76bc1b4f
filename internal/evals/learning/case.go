package learning

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// Label says whether a sentence is worth knowing in a later session.
type Label string

// The labels. Keep is worth knowing, Junk must not be kept, and Fine may be kept or not.
const (
	Keep Label = "keep"
	Fine Label = "fine"
	Junk Label = "junk"
)

// Case is a set of sessions, and what should be known after them.
type Case struct {
	Name     string    `json:"name"`
	Lang     string    `json:"lang"` // a code of ISO 639-1
	Domain   string    `json:"domain"`
	Source   string    `json:"source,omitempty"` // the data set with the texts of its refs
	Sessions []Session `json:"sessions"`
	Updates  []Update  `json:"updates,omitempty"`
	Ask      []Ask     `json:"ask,omitempty"`
}

// Session is one conversation of a case.
type Session struct {
	At       time.Time `json:"at"`
	Messages []Message `json:"messages"`
}

// Message is one message. Say holds the sentences of a user, Text the message of anybody else.
type Message struct {
	Role  string     `json:"role"`
	Name  string     `json:"name,omitempty"` // of the speaker
	Ref   string     `json:"ref,omitempty"`  // the message's id in the case's data set, which has the text
	Say   []Sentence `json:"say,omitempty"`
	Text  string     `json:"text,omitempty"`
	Calls []Call     `json:"calls,omitempty"`
}

// Call is a tool call of an assistant. The tool messages that follow contain the results, in the
// order of the calls.
type Call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Sentence is a labelled sentence of a user.
type Sentence struct {
	Text  string   `json:"t,omitempty"`
	N     int      `json:"n,omitempty"` // with a ref: number of the sentence in the message, from 1
	Is    Label    `json:"is"`
	Why   string   `json:"why,omitempty"`   // why it is junk, such as request or stale
	Must  []string `json:"must,omitempty"`  // strings that a claim must contain; a|b are alternatives, re:… is a regular expression
	Rule  string   `json:"rule,omitempty"`  // direct or indirect; "" if it is not a rule
	About []string `json:"about,omitempty"` // names of the thing that it is about; each of them is right
	Open  bool     `json:"open,omitempty"`  // still to be done at the case's end
}

// Update is a question about a value that changed.
type Update struct {
	Question string   `json:"q"`
	New      []string `json:"new"` // strings that the block must contain
	Old      []string `json:"old"` // strings that the block must not present as equally true
}

// Ask is a question or a task of the day after.
type Ask struct {
	Question string   `json:"q"`
	All      []string `json:"all"`
	None     []string `json:"none,omitempty"`
}

// Load reads the cases of a file, or of the .jsonl files of a folder. texts is the folder of the
// data sets with the texts of refs. A case whose data set is missing is left out and counted in
// without.
func Load(path, texts string) (cases []Case, without int, err error) {
	names := []string{path}
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read cases: %w", err)
	}
	if info.IsDir() {
		if names, err = filepath.Glob(filepath.Join(path, "*.jsonl")); err != nil || len(names) == 0 {
			return nil, 0, &ken.Error{Code: ken.CodeInvalid, Msg: "no cases: " + path + " holds no .jsonl file", Err: err}
		}
	}
	sources := map[string]map[string]string{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, 0, fmt.Errorf("read cases: %w", err)
		}
		read, err := parse(data)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", name, err)
		}
		for i := range read {
			c := &read[i]
			if c.Source != "" {
				if sources[c.Source] == nil {
					sources[c.Source], err = readTexts(filepath.Join(texts, filepath.FromSlash(c.Source)))
				}
				if errors.Is(err, fs.ErrNotExist) {
					without++
					continue
				}
				if err == nil {
					err = c.resolve(sources[c.Source])
				}
				if err != nil {
					return nil, 0, fmt.Errorf("%s: case %s: %w", name, c.Name, err)
				}
			}
			cases = append(cases, *c)
		}
	}
	return cases, without, nil
}

// parse reads cases, one per line. An unknown field is an error.
func parse(data []byte) (cases []Case, err error) {
	names := map[string]bool{}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var c Case
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			return nil, &ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("line %d is not a case", n), Err: err}
		}
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("line %d, case %s: %w", n, c.Name, err)
		}
		if names[c.Name] {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: "name", Msg: fmt.Sprintf("line %d: there is another case %s", n, c.Name)}
		}
		names[c.Name] = true
		cases = append(cases, c)
	}
	return cases, nil
}

// wanted returns all strings that a claim or a block must or must not contain.
func (c *Case) wanted() (all []string) {
	for _, s := range c.sentences() {
		all = append(all, s.Must...)
	}
	for _, u := range c.Updates {
		all = append(all, u.New...)
		all = append(all, u.Old...)
	}
	for _, a := range c.Ask {
		all = append(all, a.All...)
		all = append(all, a.None...)
	}
	return all
}

func (c *Case) check() error {
	fault := func(field, format string, args ...any) error {
		return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: fmt.Sprintf(format, args...)}
	}
	for _, w := range c.wanted() {
		if expr, ok := strings.CutPrefix(w, patternPrefix); ok {
			if _, err := compile(expr); err != nil {
				return fault("must", "%q is no regular expression: %v", w, err)
			}
		}
	}
	if c.Name == "" || c.Lang == "" || len(c.Sessions) == 0 {
		return fault("name", "a case needs a name, a lang and sessions")
	}
	for i, s := range c.Sessions {
		if s.At.IsZero() || i > 0 && s.At.Before(c.Sessions[i-1].At) {
			return fault("at", "session %d has no time, or one before the session that precedes it", i+1)
		}
		for j, m := range s.Messages {
			if !slices.Contains([]string{"user", "assistant", "tool", "system"}, m.Role) {
				return fault("role", "%q is none of user, assistant, tool and system", m.Role)
			}
			if len(m.Say) == 0 && m.Text == "" && m.Ref == "" && len(m.Calls) == 0 {
				return fault("text", "message %d of session %d is empty", j+1, i+1)
			}
			for k := range m.Say {
				if err := m.Say[k].check(m.Ref != ""); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *Sentence) check(byNumber bool) error {
	fault := func(field, msg string) error { return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg} }
	switch {
	case byNumber && s.N < 1 || !byNumber && strings.TrimSpace(s.Text) == "":
		return fault("t", "a sentence needs a text, or a number in a message with a ref")
	case s.Is != Keep && s.Is != Fine && s.Is != Junk:
		return fault("is", fmt.Sprintf("%q is none of keep, fine and junk", s.Is))
	case s.Is == Keep && len(s.Must) == 0:
		return fault("must", fmt.Sprintf("%q is worth keeping, and nothing says what a claim of it must have", s.Text))
	case s.Rule != "" && s.Rule != "direct" && s.Rule != "indirect":
		return fault("rule", fmt.Sprintf("%q is neither direct nor indirect", s.Rule))
	}
	return nil
}

// text returns the text of a message. A sentence without final punctuation is a line of its own.
func (m *Message) text() string {
	if m.Text != "" || len(m.Say) == 0 {
		return m.Text
	}
	var b strings.Builder
	for i := range m.Say {
		t := m.Say[i].Text
		if before := strings.TrimSpace(b.String()); before != "" && !strings.HasPrefix(t, "\n") {
			if last, _ := utf8.DecodeLastRuneInString(before); unicode.IsLetter(last) || unicode.IsDigit(last) {
				b.WriteByte('\n')
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString(t)
	}
	return b.String()
}

// speaker matches a name before a text, as in chats between people.
var speaker = lazyregexp.New(`^(\p{Lu}\pL{1,20}): `)

// resolve fills in the texts of refs from a data set. In a chat between two people, the first
// speaker becomes the user, and the other one the assistant.
func (c *Case) resolve(texts map[string]string) error {
	first := ""
	for i := range c.Sessions {
		for j := range c.Sessions[i].Messages {
			m := &c.Sessions[i].Messages[j]
			if m.Ref == "" {
				continue
			}
			text, ok := texts[m.Ref]
			if !ok {
				return &ken.Error{Code: ken.CodeInvalid, Field: "ref", Msg: fmt.Sprintf("the data set has no %q", m.Ref)}
			}
			parts := sentences(text)
			if at := speaker.FindStringSubmatch(text); at != nil {
				m.Name, text = at[1], text[len(at[0]):]
				parts[0] = strings.TrimPrefix(parts[0], at[0])
				if first = cmp.Or(first, m.Name); m.Name != first {
					m.Role = "assistant"
				}
			}
			m.Text = text
			for k := range m.Say {
				s := &m.Say[k]
				if s.N > len(parts) {
					return &ken.Error{Code: ken.CodeInvalid, Field: "n", Msg: fmt.Sprintf("%s has %d sentences, not %d", m.Ref, len(parts), s.N)}
				}
				s.Text = parts[s.N-1]
			}
		}
	}
	return nil
}

// sentences splits a text at line breaks, and after full stops, exclamation marks and question
// marks that are followed by a space or the end.
func sentences(text string) (out []string) {
	from := 0
	cut := func(to int) {
		if s := strings.TrimSpace(text[from:to]); s != "" {
			out = append(out, s)
		}
		from = to
	}
	for i := range len(text) {
		ends := strings.IndexByte(".!?", text[i]) >= 0 && (i+1 == len(text) || strings.IndexByte(" \n\t\r", text[i+1]) >= 0)
		if ends || text[i] == '\n' {
			cut(i + 1)
		}
	}
	cut(len(text))
	return out
}

// readTexts reads the texts of a data set in BEIR's layout, by id.
func readTexts(folder string) (out map[string]string, err error) {
	f, err := os.Open(filepath.Join(folder, "corpus.jsonl"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out = map[string]string{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r struct {
			ID   string `json:"_id"`
			Text string `json:"text"`
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Name(), err)
		}
		out[r.ID] = r.Text
	}
	return out, lines.Err()
}
