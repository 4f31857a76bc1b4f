package repository

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// chunkerVersion changes whenever the same source would be cut, rated or dated differently. Documents indexed by
// another version are cut again.
const chunkerVersion = "6"

const (
	maxTitle    = 100 // characters of one heading in a path
	maxStatus   = 60  // of a document's status
	maxEntities = 32  // of one chunk

	documentImportance = 0.5
)

// source is a file's content with the data for its chunks.
type source struct {
	path        string
	text        string // valid UTF-8
	hash        string
	lastChanged time.Time     // time of the last change, by the commits or by the file itself
	declared    []Declaration // nil if the declarations are not known
}

// chunks cuts a file according to its type, which follows from its name.
func (s source) chunks(lim limits) []chunk {
	lines := splitLines(s.text)
	var pieces []piece
	prefix := []string{s.path}
	parsed := false
	switch {
	case markdownFile(s.path):
		var status string
		if lines, pieces, status = cutMarkdown(lines, lim); status != "" {
			prefix = append(prefix, "Status: "+status)
		}
		parsed = true
	case strings.EqualFold(path.Ext(s.path), ".rst"):
		lines, pieces = cutReStructured(lines, lim)
		parsed = true
	case strings.EqualFold(path.Ext(s.path), ".go"):
		if l, p, ok := cutGo(s.text, lines, lim); ok {
			lines, pieces, parsed = l, p, true
		}
	}
	if !parsed && len(s.declared) > 0 && len(lines) > 0 {
		pieces, parsed = cutDeclared(lines, s.declared, lim), true
	}
	if !parsed {
		lines, pieces = cutBlocks(lines, proseFile(s.path), lim)
	}
	ids := newNamer(s.path)
	out := make([]chunk, 0, len(pieces))
	for _, p := range pieces {
		text := p.text(lines)
		if strings.TrimSpace(text) == "" {
			continue
		}
		first, last := lines[p.from].no, lines[p.to-1].no
		heading := strings.Join(append(slices.Clone(prefix), p.path...), analysis.HeadingSeparator)
		c := claim(ids, heading, text, s.lastChanged)
		c.Source, c.SourceType = s.path+":"+strconv.Itoa(first), "repository"
		c.Entities = entities(p.names)
		e := ken.FromFile(s.path, "", "")
		e.Line, e.ContentHash = first, s.hash
		c.Evidence = []ken.Evidence{e}
		out = append(out, chunk{c, first, last})
	}
	return out
}

// chunk is a claim with the lines that it was cut from.
type chunk struct {
	ken.Claim
	first, last int
}

func claim(ids *namer, heading, text string, at time.Time) ken.Claim {
	id, key := ids.name(heading, text)
	return ken.Claim{
		ID: id, Key: key, Kind: ken.KindDocument, Heading: heading, Text: text,
		Status: ken.StatusObserved, Confidence: 1, Importance: documentImportance,
		Actor: ken.Actor{Type: "system", ID: "repository"}, CreatedAt: at,
	}
}

// namer gives ids and keys to the chunks of one document. They follow from a chunk's content and not from its position,
// so an edit elsewhere in the document does not change them.
type namer struct {
	path string
	seen map[[2]string]int
}

func newNamer(path string) *namer { return &namer{path: path, seen: map[[2]string]int{}} }

// name returns a UUID of version 8 and a key "path#" with its first digits. Equal chunks are told apart by their number
// among the equal ones.
func (n *namer) name(heading, text string) (id, key string) {
	same := [2]string{heading, text}
	ordinal := n.seen[same]
	n.seen[same]++
	h := sha256.New()
	for _, s := range []string{n.path, heading, text, strconv.Itoa(ordinal)} {
		h.Write([]byte(strconv.Itoa(len(s)) + ":" + s))
	}
	var u uuid.UUID
	copy(u[:], h.Sum(nil))
	u[6] = u[6]&0x0f | 0x80 // version 8: a custom format
	u[8] = u[8]&0x3f | 0x80
	return u.String(), n.path + "#" + hex.EncodeToString(u[:6])
}

func entities(names []string) []string {
	var out []string
	for _, n := range names {
		if len(out) < maxEntities && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// cutBlocks cuts any text into blocks. A block is the text between blank lines, with everything that is indented below
// it. Small neighbours share a chunk up to half the limit. A block that is too long is cut where its indentation is
// least, and each further part begins with the lines that enclose it.
//
// In prose, long lines are wrapped. In other files, a line that is too long for a chunk is data and is left out.
func cutBlocks(lines []line, prose bool, lim limits) ([]line, []piece) {
	var out []piece
	if prose {
		lines = wrapLines(lines, lim.line())
	}
	for _, run := range runs(lines, span{0, len(lines)}, prose, lim.line()) {
		out = append(out, blocksOf(lines, run, prose, lim)...)
	}
	return lines, merge(lines, out, lim)
}

// runs returns the spans of s between lines that are too long.
func runs(lines []line, s span, prose bool, limit int) []span {
	var out []span
	for i := s.from; i < s.to; i++ {
		if !prose && lines[i].chars > limit {
			out = append(out, span{s.from, i})
			s.from = i + 1
		}
	}
	return append(out, s)
}

func blocksOf(lines []line, run span, prose bool, lim limits) []piece {
	var out []piece
	var open span // small blocks collected so far
	flush := func() {
		if open = open.trim(lines); !open.empty() {
			out = append(out, piece{span: open, path: blockTitle(lines, open, prose)})
		}
		open = span{}
	}
	blocks := units(lines, run)
	if !prose {
		blocks = withComments(lines, blocks, lim)
	}
	for _, u := range blocks {
		if !open.empty() && width(lines[open.from:u.to])-1 <= lim.max/2 {
			open.to = u.to
			continue
		}
		flush()
		if width(lines[u.from:u.to])-1 <= lim.max {
			open = u
			continue
		}
		for i, s := range cut(lines, u, lim.max, lim.rest()) {
			p := piece{span: s, path: blockTitle(lines, s, prose)}
			if i > 0 && !prose {
				if lead, path := enclosing(lines, u, s.from, lim.lead()); lead != "" {
					p.lead, p.path = lead, path
				}
			}
			out = append(out, p)
		}
	}
	flush()
	return out
}

// units divides a run at blank lines, unless the next line is indented below the previous block or closes it.
func units(lines []line, run span) []span {
	var out []span
	run = run.trim(lines)
	base := -1
	for i, from := run.from, run.from; i < run.to; i++ {
		l := lines[i]
		if l.blank() {
			continue
		}
		if base < 0 || l.indent < base {
			base = l.indent
		}
		next := i + 1
		for next < run.to && lines[next].blank() {
			next++
		}
		if next == run.to || next > i+1 && lines[next].indent <= base && !closesBlock(lines[next].trimmed()) {
			out = append(out, span{from, i + 1})
			from, base = next, -1
		}
	}
	return out
}

// withComments joins a block that is a comment with the block that it describes.
func withComments(lines []line, blocks []span, lim limits) []span {
	out := blocks[:0]
	for i := 0; i < len(blocks); i++ {
		b := blocks[i]
		if i+1 < len(blocks) && isComment(lines[b.from:b.to]) && width(lines[b.from:blocks[i+1].to])-1 <= lim.max {
			i++
			b.to = blocks[i].to
		}
		out = append(out, b)
	}
	return out
}

// isComment reports whether lines are one block comment or consist of line comments only.
func isComment(lines []line) bool {
	if strings.HasPrefix(lines[0].trimmed(), "/*") {
		return strings.HasSuffix(lines[len(lines)-1].trimmed(), "*/")
	}
	return !slices.ContainsFunc(lines, func(l line) bool { return !l.blank() && !comment(l.trimmed()) })
}

// enclosing returns the lines of the unit that enclose line at by indentation, outermost first, as many as fit into
// limit characters. path contains the same lines.
func enclosing(lines []line, unit span, at, limit int) (lead string, path []string) {
	var above []line
	indent := lines[at].indent
	for i := at - 1; i >= unit.from && indent > 0; i-- {
		if l := lines[i]; !l.blank() && l.indent < indent {
			if indent = l.indent; named(l.text) && !comment(l.trimmed()) && !closesBlock(l.trimmed()) {
				above = append(above, l)
			}
		}
	}
	slices.Reverse(above)
	for i, l := range above {
		if limit -= l.chars; limit < 0 || i == maxEnclosing {
			break
		}
		lead += strings.TrimRight(l.text, " \t") + "\n"
		path = append(path, clip(l.text, maxTitle))
	}
	return strings.TrimSuffix(lead, "\n"), path
}

// maxEnclosing is the maximum number of enclosing lines repeated at the start of a part.
const maxEnclosing = 3

func named(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// blockTitle returns the first line of a block with letters or digits that is neither a comment nor part of an import. It
// returns nothing for prose, where the title would repeat the text.
func blockTitle(lines []line, s span, prose bool) []string {
	if prose {
		return nil
	}
	open := 0 // brackets of an import of several lines
	for _, l := range lines[s.from:s.to] {
		t := l.trimmed()
		switch {
		case open > 0 || imports(t):
			open += strings.Count(t, "{") + strings.Count(t, "(") - strings.Count(t, "}") - strings.Count(t, ")")
		case named(t) && !comment(t):
			return []string{clip(t, maxTitle)}
		}
	}
	return nil
}

// imports reports whether a trimmed line of code begins an import, or names the file's package.
func imports(t string) bool {
	first, rest, _ := strings.Cut(strings.TrimPrefix(t, "pub "), " ")
	switch first {
	case "import", "use", "using", "package":
		return true
	case "from":
		return strings.Contains(rest, " import")
	case "export":
		return strings.HasPrefix(rest, "*")
	case "const", "let", "var":
		return strings.Contains(rest, "= require(")
	}
	return false
}

func markdownFile(name string) bool {
	return slices.Contains([]string{".md", ".markdown", ".mdx"}, strings.ToLower(path.Ext(name)))
}

// proseFile reports whether a file contains sentences rather than code or settings.
func proseFile(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".txt", ".rst", ".adoc", ".asciidoc", ".org", ".tex", ".textile":
		return true
	case "":
		switch strings.ToUpper(path.Base(name)) {
		case "README", "LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS", "CONTRIBUTORS", "CHANGELOG", "CHANGES", "NEWS", "TODO", "INSTALL":
			return true
		}
	}
	return false
}

// limits are the sizes for all chunkers, in characters. A declaration of code may have maxDeclaration, everything else max.
type limits struct{ max, min, maxDeclaration int }

// declarationFactor is the factor by which a declaration may be longer than other chunks. A part of a function does not show
// what the function does, and its parts would compete for the same rank.
const declarationFactor = 8

func newLimits(most, least int) limits { return limits{most, least, declarationFactor * most} }

// lead is the maximum size of repeated context in a chunk: a signature, the head of a table, the opening of a fence.
func (l limits) lead() int { return l.max / 4 }

// rest is the size that remains beside a lead.
func (l limits) rest() int { return l.max - l.lead() - 2 }

// line is the maximum length of a line, including its end, that fits beside any lead and any tail.
func (l limits) line() int { return l.rest() - 2*maxTail }

// maxTail is the maximum length of the closing line of a fence.
const maxTail = 16

// cut divides lines[s] into spans: at most first characters for the first, at most rest for the others. It breaks where
// the indentation is least, preferably after a blank line, and as late as possible, so a block that fits stays whole.
// No line may be longer than either limit.
func cut(lines []line, s span, first, rest int) []span {
	var out []span
	limit := first
	for s = s.trim(lines); !s.empty(); s = s.trim(lines) {
		end, n := s.from, 0
		for end < s.to && n+lines[end].chars-1 <= limit {
			n += lines[end].chars
			end++
		}
		if end == s.from { // a line longer than the limit becomes a span of its own
			end++
		}
		if end < s.to {
			end = bestBreak(lines, s.from, end)
		}
		out = append(out, span{s.from, end}.trim(lines))
		s.from, limit = end, rest
	}
	return out
}

// bestBreak returns the best line in (from, last] at which to start a new span.
func bestBreak(lines []line, from, last int) int {
	best, bestCost := last, 1<<30
	for k := last; k > from; k-- {
		l := lines[k]
		if l.blank() {
			continue
		}
		cost := 4 * l.indent
		if !lines[k-1].blank() {
			cost += 2
			if comment(lines[k-1].trimmed()) {
				cost += 1 << 19 // a comment stays with the line that it describes
			}
		}
		if closesBlock(l.trimmed()) {
			cost += 1 << 20
		}
		if cost < bestCost {
			best, bestCost = k, cost
		}
	}
	return best
}

// comment reports whether a trimmed line is a comment or a decorator in a common notation.
func comment(s string) bool {
	return slices.ContainsFunc([]string{"//", "#", "/*", "* ", "--", "@", ";", "%", `"""`, "'''", "<!--"}, func(p string) bool { return strings.HasPrefix(s, p) })
}

var closers = map[string]bool{
	"else": true, "elif": true, "elsif": true, "except": true, "finally": true, "catch": true, "rescue": true,
	"ensure": true, "then": true, "fi": true, "done": true, "esac": true, "end": true, "endif": true, "until": true,
}

// closesBlock reports whether a trimmed line ends or continues the block above it.
func closesBlock(s string) bool {
	if s == "" {
		return false
	}
	if strings.ContainsRune("}])", rune(s[0])) || strings.HasPrefix(s, "</") {
		return true
	}
	word := s
	if i := strings.IndexFunc(s, func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }); i >= 0 {
		word = s[:i]
	}
	return closers[word]
}

// piece is a chunk before it becomes a claim: lines[span] of a source, with context.
type piece struct {
	span
	path  []string // headings within the file, outermost first
	lead  string   // context repeated from above, on its own lines
	tail  string   // closes the lead, such as the end of a fence
	names []string // declared names
}

func (p piece) text(lines []line) string {
	text := render(lines[p.from:p.to])
	if p.lead != "" {
		text = p.lead + "\n" + text
	}
	if p.tail != "" {
		text += "\n" + p.tail
	}
	return text
}

// merge joins a piece below the minimum size with the next piece, or else with the previous one. Both must have the
// same parent, or one must be the parent of the other, and together they must fit into one chunk.
func merge(lines []line, pieces []piece, lim limits) []piece {
	out := make([]piece, 0, len(pieces))
	for i, p := range pieces {
		if p.lead == "" && p.tail == "" && utf8.RuneCountInString(render(lines[p.from:p.to])) < lim.min {
			if i+1 < len(pieces) {
				if joined, ok := join(lines, p, pieces[i+1], lim); ok {
					pieces[i+1] = joined
					continue
				}
			}
			if n := len(out); n > 0 {
				if joined, ok := join(lines, out[n-1], p, lim); ok {
					out[n-1] = joined
					continue
				}
			}
		}
		out = append(out, p)
	}
	return out
}

func join(lines []line, a, b piece, lim limits) (piece, bool) {
	both := span{a.from, b.to}
	if a.lead+a.tail+b.lead+b.tail != "" || width(lines[both.from:both.to])-1 > lim.max ||
		!(span{a.to, b.from}).trim(lines).empty() {
		return piece{}, false
	}
	path, ok := joinPaths(a.path, b.path)
	return piece{span: both, path: path, names: append(slices.Clip(a.names), b.names...)}, ok
}

// joinPaths returns the path of two joined neighbours: the deeper path of a parent and its child, or their common
// parent with both titles.
func joinPaths(a, b []string) ([]string, bool) {
	switch {
	case len(b) >= len(a) && slices.Equal(a, b[:len(a)]):
		return b, true
	case len(a) > len(b) && slices.Equal(b, a[:len(b)]):
		return a, true
	case len(a) != len(b) || !slices.Equal(a[:len(a)-1], b[:len(b)-1]):
		return nil, false
	}
	title := a[len(a)-1]
	switch strings.Count(title, " · ") {
	case 0, 1:
		title += " · " + b[len(b)-1]
	case 2:
		title += " · …"
	}
	return append(slices.Clone(a[:len(a)-1]), title), true
}
