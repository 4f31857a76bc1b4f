// Package foreign reads the memory of other tools as claims: exports of mem0, Zep, Letta and
// ChatGPT, the rule files of coding agents, Markdown notes and CSV.
//
// Each entry gets a key derived from its own id or from its text, so that reading the same file
// again changes nothing in a store. The evidence of an entry is the tool whose model found it, or
// the file that contains it. Both have at most the trust of an agent; see Options.Word.
package foreign

import (
	"cmp"
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
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/store/jsonl"
)

// Format is a file format in which another tool stores memory.
type Format string

// The formats. Claims is Ken's own: one JSON object per line.
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

// Instructs reports whether files of this format contain instructions for an agent.
func (f Format) Instructs() bool { return f == ClaudeCode || f == Cursor }

// Options says how to read a file.
type Options struct {
	Name string // file name, for messages
	// Word is the evidence for text that the file's owner wrote, such as a user's statement. The
	// zero value uses the file as evidence, which has at most the trust of an agent.
	Word ken.Evidence
	// Vouched makes Word the evidence for every entry without evidence, and accepts what lines
	// and rows say about themselves. Without it, entries can't be rules, can't have a person's
	// evidence and can't be verified. A line with a history was written by ken export and is
	// accepted unchanged.
	Vouched bool
	// Seen holds the keys of the entries that were read before; the keys of this file are added.
	// It removes duplicates across several files. Nil starts empty.
	Seen map[string]bool
}

// Item is an entry of a file.
type Item struct {
	jsonl.Line
	Skip string // why the entry is left out, if that is no error; "" for a claim
	// Unvouched says that the entry claimed something that only a person can vouch for, which was
	// removed.
	Unvouched bool
	// ByWords says that the claim's key was computed from its words: an edited entry has another
	// key.
	ByWords bool
}

// maxFile is the maximum length of a file, in bytes.
const maxFile = 1 << 30

// Read yields the entries of r. An error that is not a *ken.Error ends the sequence.
func Read(r io.Reader, f Format, o Options) iter.Seq[Item] {
	return func(yield func(Item) bool) {
		if o.Seen == nil {
			o.Seen = map[string]bool{}
		}
		if f == Claims {
			readClaims(r, o, yield)
			return
		}
		data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
		if err == nil && len(data) > maxFile {
			err = invalid("", fmt.Sprintf("the file has more than %d bytes", maxFile), "Split it.")
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

// vouch sets Word as the evidence of an entry without evidence if the user vouches for the file.
// Otherwise it removes what only a person can vouch for.
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
			e.Trust, it.Unvouched = ken.TrustAgent, true // keeps the reference
		}
		kept = append(kept, e)
	}
	c.Evidence = kept
	if len(c.Evidence) == 0 {
		c.Evidence = []ken.Evidence{jsonl.FromLine(o.Name, it.N)}
	}
}

// output turns the entries that the readers find into claims, and yields them.
type output struct {
	format Format
	o      Options
	yield  func(Item) bool
	ended  bool // the caller stopped the iteration
}

// put yields a claim. Its text must not be empty; other missing fields are filled in. A duplicate
// of an earlier entry is left out.
func (out *output) put(n int, c ken.Claim, id string) {
	c.Text, c.Heading = strings.TrimSpace(c.Text), strings.TrimSpace(c.Heading)
	if id != "" {
		c.Key = string(out.format) + ":" + id
	} else {
		c.Key = contentKey(string(out.format), c.Heading, c.Text)
	}
	c.Kind, c.Status, c.Confidence, c.Importance, c.SourceType = ken.KindFact, ken.StatusObserved, 1, 0.5, "import"
	c.Source = cmp.Or(c.Source, out.o.Name)
	switch {
	case out.o.Vouched || len(c.Evidence) == 0 && out.o.Word.Kind != "":
		c.Evidence = []ken.Evidence{out.o.Word}
	case len(c.Evidence) == 0:
		c.Evidence = []ken.Evidence{ken.FromArtifact("import:"+out.o.Name, out.o.Name)}
	}
	it := Item{Line: jsonl.Line{N: n, Claim: c, Err: c.Validate()}, ByWords: id == ""}
	switch {
	case it.Err != nil:
		it.Raw, _ = json.Marshal(map[string]any{"text": c.Text, "heading": c.Heading, "key": c.Key}) // strings can't fail
	case out.o.Seen[c.Key]:
		it.Skip = "the same as another entry"
	}
	out.o.Seen[c.Key] = true
	out.give(it)
}

// toolEvidence returns the evidence for a fact found by another tool's model.
func (out *output) toolEvidence(at time.Time) []ken.Evidence {
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

// contentKey returns a key for an entry without id, computed from its text.
func contentKey(format string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	const length = 12 // bytes, enough to avoid collisions among one person's entries
	return format + ":" + hex.EncodeToString(sum[:length])
}

// KeyOfWords reports whether a claim's key was computed from the words of an entry.
func KeyOfWords(key string) bool { return keyOfWords.MatchString(key) }

var keyOfWords = lazyregexp.New(`^(mem0|zep|letta|chatgpt|claude-code|cursor|obsidian):[0-9a-f]{24}(@|$)`)

func invalid(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}

// timeOf parses a time of an export. It returns the zero time for an invalid one.
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

// textOf returns the first of the given fields that contains text.
func textOf(m map[string]any, fields ...string) string {
	for _, f := range fields {
		if s, ok := m[f].(string); ok && strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// wordsOf returns the strings of a list, without duplicates.
func wordsOf(v any) (out []string) {
	list, _ := v.([]any)
	for _, e := range list {
		if s, ok := e.(string); ok && strings.TrimSpace(s) != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
