package decision

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/plainyaml"
)

// Draft is a new decision. Title is required, and Decision, or Context while it is Proposed.
type Draft struct {
	Title   string
	Status  Status    // Unknown means Proposed
	Date    time.Time // zero means today
	Folder  string    // from the root; empty means the folder with the most records
	Context string

	Deciders, Consulted, Informed []string
	Tags                          []string
	Governs                       []string // symbols, paths, globs

	Drivers      []string
	Options      []Alternative // all considered options, with the chosen one marked
	Decision     string
	Consequences string
	Confirmation string
	More         string

	supersedes   []pointer
	supersededBy []string // set by an import
	imported     bool     // any status is allowed
	wantedID     string   // ID of an import, used if it is free
}

// Limits of a draft, in characters and entries.
const (
	MaxTitle = 200
	maxList  = 200
)

func (d *Draft) validate() error {
	switch {
	case strings.TrimSpace(d.Title) == "" || strings.ContainsAny(d.Title, "\r\n"):
		return invalid("title", "empty, or more than one line", "Name the decision in a few words.")
	case utf8.RuneCountInString(d.Title) > MaxTitle:
		return invalid("title", strconv.Itoa(utf8.RuneCountInString(d.Title))+" characters; at most "+strconv.Itoa(MaxTitle), "Put the rest into the context.")
	case strings.TrimSpace(d.Decision) == "" && (d.Status != Proposed && !d.imported || strings.TrimSpace(d.Context) == ""):
		return invalid("decision", "empty", "Say what is decided; a proposal may give its context alone.")
	case d.Status == Superseded && !d.imported:
		return invalid("status", "a new record can't be superseded", "Create both records, and then supersede this one.")
	}
	for _, list := range [][]string{d.Deciders, d.Consulted, d.Informed, d.Tags, d.Governs, d.Drivers} {
		if len(list) > maxList {
			return invalid("", "a list has "+strconv.Itoa(len(list))+" entries; at most "+strconv.Itoa(maxList), "Name what matters most.")
		}
		for _, s := range list {
			if strings.ContainsAny(s, "\r\n") {
				return invalid("", "an entry of a list has several lines: "+clipQuote(s), "Put each entry on one line.")
			}
		}
	}
	for _, s := range []string{d.Title, d.Context, d.Decision, d.Consequences, d.Confirmation, d.More} {
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			return invalid("", "a text is not valid UTF-8", "Convert it to UTF-8 first.")
		}
		if len(s) > maxSource/8 {
			return invalid("", "a text of "+strconv.Itoa(len(s))+" bytes; at most "+strconv.Itoa(maxSource/8), "Put long material into files of its own, and link to them.")
		}
	}
	return nil
}

// render returns a draft in the form of MADR 4, with Ken's keys in the front matter.
func (d *Draft) render(id string) []byte {
	var b strings.Builder
	b.WriteString("---\n")
	b.WriteString("id: " + id + "\n")
	b.WriteString("status: " + string(d.Status) + "\n")
	list := func(key string, items []string) {
		if len(items) == 0 {
			return
		}
		q := make([]string, len(items))
		for i, s := range items {
			q[i] = plainyaml.Quote(strings.TrimSpace(s))
		}
		b.WriteString(key + ": [" + strings.Join(q, ", ") + "]\n")
	}
	list("superseded_by", d.supersededBy)
	b.WriteString("date: " + d.Date.Format(time.DateOnly) + "\n")
	list("decision-makers", d.Deciders)
	list("consulted", d.Consulted)
	list("informed", d.Informed)
	list("tags", d.Tags)
	list("governs", d.Governs)
	var over []string
	for _, p := range d.supersedes {
		over = append(over, p.inForm(formFront))
	}
	list("supersedes", over)
	b.WriteString("---\n\n# " + strings.TrimSpace(d.Title) + "\n")
	section := func(heading, text string) {
		if text = embed(text); text != "" {
			b.WriteString("\n" + heading + "\n\n" + text + "\n")
		}
	}
	section("## Context and Problem Statement", d.Context)
	section("## Decision Drivers", bullets(d.Drivers))
	var titles []string
	argued := false
	for _, o := range d.Options {
		t := "**" + oneLine(stripMarkup(o.Title)) + "**"
		if o.Chosen {
			t = "**" + oneLine(stripMarkup(o.Title)) + chosenSuffix + "**"
		}
		titles = append(titles, t)
		argued = argued || o.Text != "" || len(o.Pros) > 0 || len(o.Cons) > 0
	}
	section("## Considered Options", bullets(titles))
	section("## Decision Outcome", d.Decision)
	section("### Consequences", d.Consequences)
	section("### Confirmation", d.Confirmation)
	if argued {
		b.WriteString("\n## Pros and Cons of the Options\n")
		for _, o := range d.Options {
			d.argue(&b, o)
		}
	}
	section("## More Information", d.More)
	return []byte(b.String())
}

func (d *Draft) argue(b *strings.Builder, o Alternative) {
	if o.Text == "" && len(o.Pros) == 0 && len(o.Cons) == 0 {
		return
	}
	b.WriteString("\n### " + oneLine(stripMarkup(o.Title)) + "\n")
	if t := embed(o.Text); t != "" {
		b.WriteString("\n" + t + "\n")
	}
	var lines []string
	for _, p := range o.Pros {
		lines = append(lines, "Good, because "+oneLine(p))
	}
	for _, c := range o.Cons {
		lines = append(lines, "Bad, because "+oneLine(c))
	}
	if len(lines) > 0 {
		b.WriteString("\n" + bullets(lines) + "\n")
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func bullets(items []string) string {
	var b strings.Builder
	for _, i := range items {
		b.WriteString("- " + oneLine(i) + "\n")
	}
	return strings.TrimSpace(b.String())
}

// embed makes a text fit below a heading. Its headings become level four or deeper, where none is a section of the
// record, and an open code block is closed.
func embed(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if at := strings.LastIndex(text, "<!--"); at >= 0 && !strings.Contains(text[at:], "-->") {
		text = strings.ReplaceAll(text, "<!--", "&lt;!--") // otherwise it would hide the rest of the file
	}
	var out []string
	var code fence
	for l := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		l = strings.TrimRight(l, " \t")
		if !code.step(l) {
			if m := atx.FindStringSubmatch(l); m != nil && len(m[1]) < 4 {
				l = "#### " + m[2]
			}
			if t := strings.TrimSpace(l); t != "" && (strings.Trim(t, "=") == "" || strings.Trim(t, "-") == "") && len(out) > 0 && out[len(out)-1] != "" {
				out = append(out, "") // keep the rule from underlining a heading
			}
		}
		out = append(out, l)
	}
	if code.run > 0 {
		out = append(out, strings.Repeat(string(code.mark), code.run))
	}
	return strings.TrimRight(strings.Join(out, "\n"), " \t\n")
}

// maxSlug is the maximum length of the words in a file's name, in bytes.
const maxSlug = 60

// slug returns the part of a file's name that is derived from the title.
func slug(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(stripMarkup(title)) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r > 127 && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	s := strings.Trim(b.String(), "-")
	if len(s) > maxSlug {
		s = strings.ToValidUTF8(s[:maxSlug+1], "")
		if at := strings.LastIndexByte(s, '-'); at > maxSlug/2 {
			s = s[:at]
		}
	}
	if s == "" {
		return "decision"
	}
	return s
}

// Beginnings of arguments: "Good, because", "Con:", "+".
var (
	proSign = lazyregexp.New(`(?i)^(?:\*\*|__)?(?:good|pro|pros|advantage|benefit|\+|✅|➕|👍)(?:\*\*|__)?(?:\s*[:,]|\s+(?:because|since|as|that)\b|\s*[–—-]\s|\s+)`)
	conSign = lazyregexp.New(`(?i)^(?:\*\*|__)?(?:bad|con|cons|disadvantage|drawback|❌|➖|👎)(?:\*\*|__)?(?:\s*[:,]|\s+(?:because|since|as|that)\b|\s*[–—-]\s|\s+)`)
	neutral = lazyregexp.New(`(?i)^(?:\*\*|__)?neutral(?:\*\*|__)?(?:\s*[:,]|\s+(?:because|since|as|that)\b|\s*[–—-]\s|\s+)`)
)

// side is whether an argument is for or against an option.
type side uint8

const (
	noSide side = iota
	pro
	con
	neutralSide
)

// argument parses a bullet such as "Good, because it is fast".
func argument(text string) (side, string) {
	for _, s := range []struct {
		side side
		re   *lazyregexp.Regexp
	}{{pro, proSign}, {con, conSign}, {neutralSide, neutral}} {
		if m := s.re.FindStringIndex(text); m != nil {
			rest := strings.TrimSpace(text[m[1]:])
			rest = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(rest, "because "), "since "))
			if rest != "" {
				return s.side, rest
			}
		}
	}
	return noSide, text
}

// label parses a line that says on which side the following arguments are: "**Cons:**".
func label(text string) (side, bool) {
	switch strings.ToLower(strings.Trim(stripMarkup(text), " :.")) {
	case "pros", "pro", "advantages", "benefits", "good", "positive", "upsides":
		return pro, true
	case "cons", "con", "disadvantages", "drawbacks", "bad", "negative", "downsides":
		return con, true
	case "neutral":
		return neutralSide, true
	}
	return noSide, false
}

// chosenMark matches the mark of the chosen option in a heading or a bullet.
var chosenMark = lazyregexp.New(`(?i)(?:★|✅|\(|—|–|-|:)\s*(?:chosen|selected|accepted|this decision|we chose this)\b`)

// chosen matches the name of the chosen option in a decision.
var chosen = lazyregexp.New(`(?i)chosen option:?\**\s*:?\s*["“'*_\[]*([^"”\n]+)`)

// options reads the sections on options and marks the chosen one.
func (d *document) options() []Option {
	read := func(k Kind) (out []Option) {
		for _, i := range d.ofKind(k) {
			inner := map[int]heading{}
			level := 0
			to := d.heads[i].end
			for j := i + 1; j < len(d.heads) && d.heads[j].at < d.heads[i].end; j++ {
				h := d.heads[j]
				if h.kind != "" {
					to = min(to, h.at)
					break
				}
				if level == 0 {
					level = h.level
				}
				if h.level <= level {
					inner[h.at] = h
				}
			}
			var r optionReader
			r.read(d.lines, d.heads[i].next, to, inner)
			out = append(out, r.out...)
		}
		return out
	}
	out := mergeOptions(mergeOptions(nil, read(KindOptions)), read(KindProsAndCons))
	d.readNamedSections(out)
	for i := range out {
		out[i].Chosen = out[i].Chosen || chosenMark.MatchString(out[i].Title.Text) || strings.HasPrefix(strings.ToLower(stripMarkup(out[i].Text)), "chosen")
	}
	if m := chosen.FindStringSubmatch(textFrom(d.Decision.Text, "chosen option")); m != nil {
		name := strings.TrimRight(stripMarkup(m[1]), "\"”'*_] ,.")
		for i := range out {
			if sameOption(out[i].Title.Text, name) || len(foldKey(out[i].Title.Text)) >= 4 && strings.HasPrefix(foldKey(name), foldKey(out[i].Title.Text)) {
				out[i].Chosen = true
				break
			}
		}
	}
	return out
}

// textFrom returns a text from the first occurrence of words on, ignoring case; "" if there is none. words is in lower
// case.
func textFrom(text, words string) string {
	for i := 0; i+len(words) <= len(text); i++ {
		if text[i]|0x20 == words[0] && strings.EqualFold(text[i:i+len(words)], words) {
			return text[i:]
		}
	}
	return ""
}

// readNamedSections reads free-standing sections that have the name of an option, as some records have next to "Pros and Cons of
// the Options".
func (d *document) readNamedSections(named []Option) {
	keys := make([]string, len(named))
	for i := range named {
		keys[i] = foldKey(named[i].Title.Text)
	}
	read := 0 // index of the line at which the sections read so far end
	for _, h := range d.heads {
		if h.kind == KindOptions || h.kind == KindProsAndCons {
			read = max(read, h.end)
		}
		if len(named) == 0 || h.kind != "" || h.level < 2 || h.at < read {
			continue
		}
		key := foldKey(headingText(h.title))
		for i := range named {
			if !sameFoldedTitle(keys[i], key) || named[i].Title.Line == h.at+1 || len(named[i].Pros)+len(named[i].Cons) > 0 {
				continue
			}
			r := optionReader{out: named[i : i+1 : i+1], open: true, byHead: true, headed: true}
			r.read(d.lines, h.next, h.end, nil)
		}
	}
}
