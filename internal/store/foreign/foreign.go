// Package foreign reads what other tools keep as memory, as claims: exports of mem0, Zep,
// Letta and ChatGPT, the rule files of coding agents, Markdown notes and CSV.
//
// Each entry gets a key that follows from its own id or from its words, so that the same file
// read again changes nothing in a store. What another tool's model found out is that tool's
// word, what a file says is the file's, and both are an agent's at most: see Options.Word.
package foreign

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/jsonl"
)

// Format is a form in which others keep memory.
type Format string

// The formats. Claims is Ken's own: one JSON object a line.
const (
	Claims     Format = "claims"
	Mem0       Format = "mem0"
	Zep        Format = "zep"
	Letta      Format = "letta"
	ChatGPT    Format = "chatgpt"
	ClaudeCode Format = "claude-code"
	Cursor     Format = "cursor"
	Obsidian   Format = "obsidian"
	CSV        Format = "csv"
)

// Formats lists every format.
func Formats() []Format {
	return []Format{Claims, Mem0, Zep, Letta, ChatGPT, ClaudeCode, Cursor, Obsidian, CSV}
}

// Instructs reports a format that holds what somebody told an agent to do.
func (f Format) Instructs() bool { return f == ClaudeCode || f == Cursor }

// Options says how to read a file.
type Options struct {
	Name string // of the file, for people
	// Word is the evidence for what the file's owner wrote, such as a person's word. The zero
	// value is the file itself, which is an agent's word at most.
	Word ken.Evidence
	// Vouched makes Word the evidence for every entry that brings none of its own, and takes what
	// lines and rows say of themselves: without it they are no rules, bring no person's word and
	// are not verified. A line with a history is one that ken export wrote, and is taken whole.
	Vouched bool
	// Seen holds the keys of the entries that were read before, and gets those of this file:
	// what several files say alike is read once. Nil begins anew.
	Seen map[string]bool
}

// Item is an entry of a file.
type Item struct {
	jsonl.Line
	Skip string // why the entry is left out, which is no error; "" for one that is a claim
	// Unvouched: the entry said something that only a person's word can say, which was taken out.
	Unvouched bool
}

// MaxFile is the longest file that is read at once, in bytes.
const MaxFile = 1 << 30

// Read yields the entries of r. An error that is not a *ken.Error ends the sequence.
func Read(r io.Reader, f Format, o Options) iter.Seq[Item] {
	return func(yield func(Item) bool) {
		if f == Claims {
			readClaims(r, o, yield)
			return
		}
		data, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
		if err == nil && len(data) > MaxFile {
			err = invalid("", fmt.Sprintf("the file has more than %d bytes", MaxFile), "Split it.")
		}
		if err == nil && !utf8.Valid(data) {
			err = invalid("", "the file is not valid UTF-8", "Convert it to UTF-8 first.")
		}
		if err != nil {
			yield(Item{Line: jsonl.Line{N: 1, Err: err}})
			return
		}
		text := strings.TrimPrefix(string(data), "\ufeff")
		out := &output{format: f, o: o, yield: yield}
		if out.o.Seen == nil {
			out.o.Seen = map[string]bool{}
		}
		switch f {
		case Mem0:
			out.mem0(text)
		case Zep:
			out.zep(text)
		case Letta:
			out.letta(text)
		case ChatGPT:
			out.chatGPT(text)
		case ClaudeCode, Cursor, Obsidian:
			out.markdown(text)
		case CSV:
			out.csv(text)
		default:
			out.fail(1, invalid("from", "unknown format "+string(f), "Use one of "+names()+"."), nil)
		}
	}
}

func names() string {
	var out []string
	for _, f := range Formats() {
		out = append(out, string(f))
	}
	return strings.Join(out, ", ")
}

func readClaims(r io.Reader, o Options, yield func(Item) bool) {
	if o.Seen == nil {
		o.Seen = map[string]bool{}
	}
	for l := range jsonl.Read(r, o.Name) {
		skip := ""
		if l.Err == nil && l.Claim.ID == "" && l.Claim.Key == "" {
			c := &l.Claim
			c.Key = contentKey("import", string(c.Kind), c.Text, c.Project, c.Scope.String())
			line := contentKey("line", string(l.Raw))
			if o.Seen[line] {
				skip = "the same as another entry"
			}
			o.Seen[line] = true
		}
		it := Item{Line: l, Skip: skip}
		if l.Err == nil && (o.Vouched || l.Claim.ID == "" || len(l.History) == 0) {
			it.vouch(o)
		}
		if !yield(it) {
			return
		}
	}
}

// vouch makes the entry's evidence the user's word where they vouch for it and it has none. Where they
// don't, it takes out what a person alone can say.
func (it *Item) vouch(o Options) {
	c := &it.Claim
	if o.Vouched {
		if it.Assumed {
			c.Evidence = []ken.Evidence{o.Word}
		}
		return
	}
	if c.Constraint {
		c.Constraint, c.RuleCandidate, it.Unvouched = false, true, true
	}
	if c.Status == ken.StatusVerified {
		c.Status, it.Unvouched = ken.StatusObserved, true
	}
	if c.AssignedBy == ken.AssignedByOperator {
		c.AssignedBy, it.Unvouched = "", true
	}
	if len(it.History) > 0 {
		it.History, it.Unvouched = nil, true
	}
	var kept []ken.Evidence
	for _, e := range c.Evidence {
		switch {
		case e.Kind == ken.EvidenceHumanAssertion || e.Kind == ken.EvidenceUserStatement:
			it.Unvouched = true
			continue
		case e.Speaker() == ken.TrustOperator:
			e.Trust, it.Unvouched = ken.TrustAgent, true // what is cited is still known
		}
		kept = append(kept, e)
	}
	c.Evidence = kept
	if len(c.Evidence) == 0 {
		c.Evidence = []ken.Evidence{jsonl.FromLine(o.Name, it.N)}
	}
}

// output makes claims of what the readers find, and yields them.
type output struct {
	format Format
	o      Options
	yield  func(Item) bool
	ended  bool // the caller wants no more
}

// put yields a claim. Its text must be there; what else is missing is filled in. An entry that
// says the same as one before it is left out.
func (out *output) put(n int, c ken.Claim, id string) {
	c.Text, c.Heading = strings.TrimSpace(c.Text), strings.TrimSpace(c.Heading)
	if id != "" {
		c.Key = string(out.format) + ":" + id
	} else {
		c.Key = contentKey(string(out.format), c.Heading, c.Text)
	}
	c.Kind, c.Status, c.Confidence, c.Importance, c.SourceType = ken.KindFact, ken.StatusObserved, 1, 0.5, "import"
	if c.Source == "" {
		c.Source = out.o.Name
	}
	switch {
	case out.o.Vouched || len(c.Evidence) == 0 && out.o.Word.Kind != "":
		c.Evidence = []ken.Evidence{out.o.Word}
	case len(c.Evidence) == 0:
		c.Evidence = []ken.Evidence{ken.FromArtifact("import:"+out.o.Name, out.o.Name)}
	}
	it := Item{Line: jsonl.Line{N: n, Claim: c, Err: c.Validate()}}
	switch {
	case it.Err != nil:
		it.Raw, _ = json.Marshal(map[string]any{"text": c.Text, "heading": c.Heading, "key": c.Key}) // strings can't fail
	case out.o.Seen[c.Key]:
		it.Skip = "the same as another entry"
	}
	out.o.Seen[c.Key] = true
	out.give(it)
}

// toolsWord is the evidence for what another tool's model found out.
func (out *output) toolsWord(at time.Time) []ken.Evidence {
	e := ken.FromAgentAssertion(string(out.format), "")
	e.FetchedAt = at
	return []ken.Evidence{e}
}

func (out *output) skip(n int, why string) { out.give(Item{Line: jsonl.Line{N: n}, Skip: why}) }

func (out *output) fail(n int, err error, raw []byte) {
	out.give(Item{Line: jsonl.Line{N: n, Err: err, Raw: raw}})
}

func (out *output) give(it Item) {
	if !out.ended {
		out.ended = !out.yield(it)
	}
}

// contentKey names an entry that has no id by what it says.
func contentKey(format string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	const length = 12 // bytes: no two entries of one person meet
	return format + ":" + hex.EncodeToString(sum[:length])
}

func invalid(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}

// timeOf reads a time of an export, and returns zero for what is none.
func timeOf(v any) time.Time {
	switch t := v.(type) {
	case string:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", time.DateOnly} {
			if at, err := time.Parse(layout, t); err == nil && at.Year() > 0 && at.Year() < 10000 {
				return at.UTC()
			}
		}
	case float64:
		const end = 253402300800 // year 10000
		if t > 0 && t < end {
			return time.UnixMicro(int64(t * 1e6)).UTC()
		}
	}
	return time.Time{}
}

// textOf returns the first of some fields that holds text.
func textOf(m map[string]any, fields ...string) string {
	for _, f := range fields {
		if s, ok := m[f].(string); ok && strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// wordsOf returns a list of strings.
func wordsOf(v any) (out []string) {
	list, _ := v.([]any)
	for _, e := range list {
		if s, ok := e.(string); ok && strings.TrimSpace(s) != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
