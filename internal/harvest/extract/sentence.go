package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
)

// sentence is one sentence of a message.
type sentence struct {
	start, end int    // byte offsets in the message
	full       string // with single spaces, before anything is cut
	text       string // the part that is still used
	words      []word // of text
	item       bool   // an item of a list
	asks       bool   // it ends with a question mark
}

// Bounds of what is read of one message.
const (
	maxSentences  = 60   // those at the beginning and at the end
	lastSentences = 20   // of these, those at the end
	maxSentence   = 1200 // bytes; a longer stretch is not a sentence that somebody wrote
)

// sentences splits the prose of a message.
func sentences(text string) []sentence {
	out, _ := sentencesRead(text)
	return out
}

// sentencesRead splits the prose of a message. unread says how many sentences in its middle were left out; behind
// headBytes, that is an estimate.
func sentencesRead(text string) (out []sentence, unread int) {
	var last []sentence // the latest behind the first ones, which are not yet split into words
	for _, p := range passages(text) {
		start := p.start
		for start < p.end {
			n, asks := split(text[start:p.end])
			s := sentence{start: start, end: start + n, item: p.item, asks: asks}
			start += n
			switch {
			case n > maxSentence || strings.TrimSpace(strings.Trim(text[s.start:s.end], blanks)) == "":
			case len(out) < maxSentences-lastSentences:
				s.trim(text)
				out = append(out, s)
			default:
				last = append(last, s)
			}
		}
	}
	if unread = len(last) - lastSentences; unread > 0 {
		last = last[unread:]
	}
	for _, s := range last {
		s.trim(text)
		out = append(out, s)
	}
	unread = max(unread, 0)
	if end := len(text) - tailBytes; end > headBytes {
		for _, mark := range [...]string{". ", ".\n", "! ", "? ", "。"} {
			unread += strings.Count(text[headBytes:end], mark)
		}
	}
	return out, unread
}

const blanks = " \t\r\n*_"

// trim removes spaces and emphasis marks at both ends.
func (s *sentence) trim(text string) {
	raw := text[s.start:s.end]
	core := strings.TrimLeft(raw, blanks)
	s.start += len(raw) - len(core)
	core = strings.TrimRight(core, blanks)
	s.end = s.start + len(core)
	s.full = squeeze(core)
	s.text = s.full
	s.words = wordsOf(s.text)
}

// split returns the length of the first sentence of s in bytes, and whether it is a question.
func split(s string) (n int, asks bool) {
	for i, r := range s {
		switch r {
		case '。', '！', '？':
			return i + utf8.RuneLen(r), r == '？'
		case '[':
			if i > 0 && attached(s[i:]) {
				return i, false
			}
			continue
		case '!', '?', '…', '.':
		default:
			continue
		}
		end := i + utf8.RuneLen(r)
		rest := strings.TrimLeft(s[end:], ".!?…")
		mark := strings.ContainsRune(s[i:len(s)-len(rest)], '?')
		rest = strings.TrimLeft(rest, "\"'”’)*_")
		if rest == "" {
			return len(s), mark
		}
		if next, _ := utf8.DecodeRuneInString(rest); !unicode.IsSpace(next) && !isEmoji(next) {
			continue
		}
		if r == '.' && (!stops(s[:i], rest) || strings.HasPrefix(s[end:], ".") && unicode.IsLower(firstRune(rest))) {
			continue
		}
		rest = strings.TrimLeftFunc(rest, isEmoji)
		return len(s) - len(rest), mark
	}
	return len(s), false
}

// attached reports whether s starts with a placeholder that clients write for an attachment, such as
// "[image: a dog]".
func attached(s string) bool {
	i := 1
	for i < len(s) && letter(s[i]) {
		i++
	}
	return i > 1 && i+1 < len(s) && s[i] == ':' && s[i+1] == ' '
}

// stops reports whether the full stop between before and after ends a sentence.
func stops(before, after string) bool {
	last := before[strings.LastIndexAny(before, " \n\t(")+1:]
	if utf8.RuneCountInString(last) == 1 && last != "I" && unicode.IsUpper([]rune(last)[0]) || abbreviations[lower(last)] {
		return false
	}
	if n := len(last); n > 0 && n < 3 && strings.Trim(last, "0123456789") == "" { // "den 20. März"
		words := strings.Fields(before)
		if len(words) > 1 && datesBefore[strings.ToLower(words[len(words)-2])] {
			return false
		}
	}
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(after, " \t\r\n\"'“‘(*_"))
	if unicode.IsLower(next) { // people who write without capitals
		return plainWord(last) || shortLast[lower(last)] || len(last) > 2 && strings.ContainsAny(last, "0123456789") && !strings.ContainsAny(last, ".,:/")
	}
	return true
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(strings.TrimSpace(s))
	return r
}

// plainWord reports whether w is at least three letters and nothing else. A full stop behind such a
// word does not mark an abbreviation.
func plainWord(w string) bool {
	for _, r := range w {
		if !unicode.IsLetter(r) {
			return false
		}
	}
	return utf8.RuneCountInString(w) >= 3
}

// shortLast holds words of two letters that end a sentence.
var shortLast = analysis.Set("it me us up on in go so do ok by to is am")

// datesBefore holds words that precede the day of a month in German.
var datesBefore = analysis.Set("am den der dem zum vom bis ab")

var abbreviations = analysis.Set(`mr mrs ms dr prof st vs etc e.g i.e eg ie cf no approx jan feb mar apr jun jul aug sep sept oct nov dec inc ltd u.s a.m p.m
	bzw usw ggf inkl exkl evtl zzgl vgl bspw sog ca env aprox pág núm sra sr av`)

// mostOpenings bounds how many openings are removed from one sentence: "Well, ok, thanks, so, …".
const mostOpenings = 6

// open removes empty openings from the start of a sentence, such as "Oh, by the way,", and the name
// of a person present who is addressed.
func (s *sentence) open(present map[string]bool) {
	for range mostOpenings {
		if len(s.words) < 2 {
			return
		}
		n := max(longOpenings.starts(s.words), leadIn(s.words))
		if n == 0 && s.words[0].comma && isNameOfPresent(s.words[0].low, present) {
			n = 1
		}
		if good := s.words[0].low == "good" || s.words[0].low == "great"; good && s.words[1].low == "news" && s.words[1].comma {
			n = 2
		}
		if n == 0 && openings[s.words[0].low] {
			n = 1
			// "Great work" and "So far" are no openings; "And I", "But we" are.
			if w := &s.words[0]; !w.comma && !(joining[w.low] && (w.low != "so" || self[low(s.words, 1)])) {
				return
			}
		}
		if n == 0 && s.words[0].low == "" { // a dash
			n = 1
		}
		if n == 0 || n >= len(s.words) {
			return
		}
		s.cutTo(s.words[n].start)
	}
}

var joining = analysis.Set("and but so also plus yeah yep yes oh well nvm nevermind oops whoops ugh argh welp omg tbh fwiw ps psa fyi btw")

// cutTo removes the sentence's text before byte i.
func (s *sentence) cutTo(i int) {
	s.text = s.text[i:]
	s.words = wordsOf(s.text)
}

// cutAt removes the text from byte i on, and the punctuation before it.
func (s *sentence) cutAt(i int) {
	s.text = strings.TrimRight(s.text[:i], " ,;:–—-")
	s.words = wordsOf(s.text)
}

// tag is the maximum number of words in a question tag.
const tag = 3

// head cuts a sentence before a request at its end: "I moved to Lyon, can you suggest a doctor?" It
// reports whether what is left is a statement.
func (s *sentence) head() bool {
	for i := 4; i < len(s.words); i++ {
		if requests.starts(s.words[i:]) == 0 && !asksToDo(s.words, i) {
			continue
		}
		k := i
		for k > 0 && (joining[s.words[k-1].low] || s.words[k-1].low == "") {
			k--
		}
		if k < 4 || k == i && !s.words[k-1].comma {
			continue
		}
		if follow := low(s.words, i); !s.asks && (follow == "what" || follow == "which" || follow == "right" || follow == "ok" || follow == "okay") {
			continue // ", which is …"
		}
		if s.asks && len(s.words)-i <= tag {
			return false // "It is manual, isn't it?" is a question as a whole
		}
		s.cutAt(s.words[k].start)
		s.asks = false
		return !isUnmarkedQuestion(s.words)
	}
	return !s.asks && !isUnmarkedQuestion(s.words)
}

// clauses splits a sentence that is longer than limit characters where a new
// subject begins: "…, and I …". Each part is a sentence of its own.
func (s *sentence) clauses(limit int) []sentence {
	if characters(s.text) <= limit {
		return []sentence{*s}
	}
	var out []sentence
	rest := *s
	for i := 5; i < len(rest.words); i++ {
		w := rest.words
		semicolon := strings.HasSuffix(strings.TrimRight(rest.text[:w[i].start], " "), ";")
		joined := joining[w[i-1].low] && w[i-2].comma && self[w[i].low]
		if !semicolon && !joined {
			continue
		}
		first := rest
		cut := w[i].start
		if joined {
			cut = w[i-1].start
		}
		first.cutAt(cut)
		out = append(out, first)
		rest.cutTo(w[i].start)
		rest.full = rest.text
		i = 4
	}
	return append(out, rest)
}

// isProse reports whether a line is text that somebody wrote, and not code, a log, a table or a
// heading.
func isProse(line string) bool {
	if line == "" || strings.IndexByte(">|#$@{}[<%=\\/", line[0]) >= 0 {
		return false
	}
	if r, _ := utf8.DecodeRuneInString(line); strings.ContainsRune(status, r) {
		return false
	}
	for _, mark := range [...]string{"+++", "---", "***", "===", "//", "/*", "at ", "File \"", "!["} {
		if strings.HasPrefix(line, mark) {
			return false
		}
	}
	if isLogLine(line) || len(analysis.Definitions(line)) > 0 {
		return false
	}
	bare := strings.ReplaceAll(uncoded(line), "**", "")
	if bare == "" {
		return false
	}
	for _, mark := range [...]string{":=", "==", "=>", "->", "();", "</", "/>", "&&", "||", "!=", "+=", "{}", "${", "\":", "::"} {
		if strings.Contains(bare, mark) {
			return false
		}
	}
	switch bare[len(bare)-1] {
	case '{', '}', ';', '\\', '=':
		return false
	}
	letters, marks, token := 0, 0, 0
	for _, c := range bare {
		if c == ' ' {
			token = 0
			continue
		}
		if token++; token > maxToken && c < utf8.RuneSelf {
			return false
		}
		switch {
		case unicode.IsLetter(c), unicode.IsDigit(c), unicode.IsMark(c):
			letters++
		case strings.ContainsRune("=<>{}[]|\\/_;#$%^&*+~@", c):
			marks++
		}
	}
	return letters > 0 && marks*8 <= letters
}

// status holds the characters that programs put before their reports.
const status = "⚠❌✅✓✗✔✘ℹ→│└├"

// hasProgramOutput reports whether a message contains a program's output.
func hasProgramOutput(text string) bool {
	if len(text) > headBytes {
		text = text[:headBytes]
	}
	fence := false // text in a code block is ignored anyway
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			fence = !fence
		case fence || line == "":
		case isLogLine(line), strings.ContainsAny(line, "⚠❌✗✘"):
			return true
		}
	}
	return false
}

// uncoded returns a line in which each text between backticks is replaced by a word.
func uncoded(line string) string {
	if strings.IndexByte(line, '`') < 0 {
		return line
	}
	var b strings.Builder
	for i, part := range strings.Split(line, "`") {
		if i%2 == 0 {
			b.WriteString(part)
		} else {
			b.WriteString("code")
		}
	}
	return b.String()
}

// isLogLine reports whether a program wrote the line, that is, whether it starts with a time or a
// level.
func isLogLine(line string) bool {
	first, rest, _ := strings.Cut(line, " ")
	level := strings.Trim(first, "[]:")
	switch level {
	case "INFO", "WARN", "WARNING", "ERROR", "DEBUG", "TRACE", "FATAL", "PASS", "FAIL", "ok", "Traceback", "panic", "goroutine", "npm", "error", "warning":
		return len(rest) > 0 && (level != "ok" || strings.Contains(line, "\t")) && (level == strings.ToUpper(level) || strings.HasSuffix(first, ":") || level == "Traceback" || level == "goroutine")
	}
	digits, marks := 0, 0
	for i := range len(first) {
		switch c := first[i]; {
		case digit(c):
			digits++
		case c == ':' || c == '-' || c == '/' || c == 'T' || c == 'Z' || c == '.' || c == '[' || c == ']':
			marks++
		default:
			return false
		}
	}
	return digits >= 6 && marks >= 2 // 2024-03-04T10:11:12Z, 10:11:12.345
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// Bounds of what is read of a message. People type at the beginning and at the end; what is in the
// middle was pasted.
const (
	headBytes = 6 << 10
	tailBytes = 2 << 10
	maxToken  = 120 // bytes; a longer word is encoded data
)

// passage is a byte range of prose: one paragraph, or one item of a list.
type passage struct {
	start, end int
	item       bool // an item of a list
}

// passages finds the prose in a text. Code, quotations, tables, logs, headings and
// blocks between tags are left out.
func passages(text string) []passage {
	var out []passage
	r := reader{text: text}
	for start := 0; start < len(text); {
		if start >= headBytes && start < len(text)-tailBytes { // skips the middle, which was pasted
			start = len(text) - tailBytes
			if n := strings.IndexByte(text[start:], '\n'); n >= 0 {
				start += n + 1
			}
			r.open = false
			continue
		}
		end := start + strings.IndexByte(text[start:], '\n') + 1
		if end <= start {
			end = len(text)
		}
		cut := end
		if start < headBytes && end > headBytes && len(text)-tailBytes > headBytes { // one long line
			cut = start + sentenceEnd(text[start:headBytes])
		}
		out = r.line(out, start, cut)
		if cut < end {
			r.open = false
			start = len(text) - tailBytes
			if n := strings.IndexAny(text[start:], ".!?\n"); n >= 0 {
				start += n + 1
			}
			continue
		}
		start = end
	}
	return out
}

// sentenceEnd returns where the last whole sentence of s ends.
func sentenceEnd(s string) int {
	if i := strings.LastIndexAny(s, ".!?"); i >= 0 {
		return i + 1
	}
	return 0
}

// reader holds the state of reading a text line by line.
type reader struct {
	text   string
	fence  bool
	tag    string // name of the open tag, "" outside of tags
	open   bool   // the line before was prose
	broken *bool  // whether the text's lines were broken to fit a width; nil is not known yet
}

// line reads text[start:end].
func (r *reader) line(out []passage, start, end int) []passage {
	line := strings.TrimSpace(r.text[start:end])
	was := r.open
	r.open = false
	switch {
	case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
		if !r.fence || !strings.Contains(line[3:], "```") {
			r.fence = !r.fence
		}
		return out
	case r.fence, line == "":
		return out
	case r.tag != "":
		if strings.Contains(line, "</"+r.tag) {
			r.tag = ""
		}
		return out
	}
	if name := tagAtStart(line); name != "" {
		if !strings.Contains(line, "</"+name) {
			r.tag = name
		}
		return out
	}
	at := start + strings.Index(r.text[start:end], line)
	core, item := bullet(line)
	if !item && indented(r.text[start:end]) || !isProse(core) {
		return out
	}
	stop := at + len(line)
	at += len(line) - len(core)
	if n := len(out); was && !item && n > 0 && r.joins(r.text[out[n-1].start:out[n-1].end]) {
		out[n-1].end = stop
	} else {
		out = append(out, passage{at, stop, item})
	}
	r.open = true
	return out
}

// tagAtStart returns the name of the tag at the start of a line, or "". Clients wrap what they add to a
// user's message into such tags.
func tagAtStart(line string) string {
	if len(line) < 3 || line[0] != '<' || !letter(line[1]) {
		return ""
	}
	i := 1
	for i < len(line) && (letter(line[i]) || digit(line[i]) || line[i] == '-' || line[i] == '_') {
		i++
	}
	if i == len(line) || line[i] != '>' && line[i] != ' ' || strings.HasSuffix(line, "/>") {
		return ""
	}
	return line[1:i]
}

// Line lengths, in bytes, by which text that was broken to fit a width is recognised.
const (
	shortest  = 40
	widest    = 100 // maximum length of its longest line
	narrowest = 70  // minimum length of the longest line if there is only one break, which may be chance
)

// joins reports whether the next line continues the line before. It does behind a comma, behind a word that
// ends no sentence, and where the text was broken to fit a width. In chats a new line is a new
// sentence, with or without a capital.
func (r *reader) joins(before string) bool {
	switch last, _ := utf8.DecodeLastRuneInString(before); {
	case strings.ContainsRune(sentenceEnds, last):
		return false
	case last == ',' || last == '，' || last == '、':
		return true
	case analysis.IsStopWord(lower(before[strings.LastIndexAny(before, " \n")+1:])): // "so it", "part of the"
		return len(before)-strings.LastIndexByte(before, '\n')-1 >= shortest
	}
	if r.broken == nil {
		fits := brokenToFit(r.text)
		r.broken = &fits
	}
	return *r.broken
}

const sentenceEnds = ".!?:;…。！？"

// brokenToFit reports whether the lines of a text were broken where the next word had no room. All
// lines that end within a sentence must be.
func brokenToFit(text string) bool {
	width := 0
	for l := range strings.Lines(text) {
		width = max(width, len(strings.TrimRight(l, " \r\n")))
	}
	if width > widest {
		return false
	}
	breaks, before := 0, ""
	for l := range strings.Lines(text) {
		line := strings.TrimSpace(l)
		last, _ := utf8.DecodeLastRuneInString(before)
		if before != "" && line != "" && !strings.ContainsRune(sentenceEnds, last) {
			if word, _, _ := strings.Cut(line, " "); len(before)+1+len(word) <= width {
				return false
			}
			breaks++
		}
		before = line
	}
	return breaks > 1 || breaks == 1 && width >= narrowest
}

// bullet removes the mark of a list item, and reports whether there was one.
func bullet(line string) (core string, item bool) {
	for _, mark := range [...]string{"- [ ] ", "- [x] ", "- ", "* ", "• ", "+ ", "– "} {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			return strings.TrimSpace(rest), true
		}
	}
	i := 0
	for i < len(line) && digit(line[i]) {
		i++
	}
	if i > 0 && i < 4 && i+1 < len(line) && (line[i] == '.' || line[i] == ')') && line[i+1] == ' ' {
		return strings.TrimSpace(line[i+1:]), true
	}
	return line, false
}

func indented(line string) bool {
	return strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ")
}
