package extract

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/run/session"
)

// Bounds of the summary's parts, in characters.
const (
	maxGoal     = 240
	maxRequest  = 160
	topicsShare = 260
	leastTopics = 120 // kept free for topics
	saidShare   = 600 // for what was said in a conversation
)

// digest holds what a summary is written from.
type digest struct {
	tr     *session.Transcript
	all    []speech
	found  []candidate // best first
	people bool
}

// summary writes the episode in at most limit characters: what the next session should know
// first. What does not fit is left out as whole sentences.
func (d *digest) summary(limit int) string {
	if len(d.all) == 0 {
		return ""
	}
	p := page{left: limit - characters(draft.SummaryNote) - 1}
	p.line(d.heading())
	if d.people {
		d.said(&p, saidShare, nil)
	} else {
		p.left -= leastTopics
		d.asked(&p)
		p.left += leastTopics
	}
	share := topicsShare
	if d.people {
		share = min(p.left-1, 600)
	}
	p.line(topics(d, p.text(), share))
	if p.empty() {
		return ""
	}
	p.lines = append(p.lines, draft.SummaryNote)
	return strings.Join(p.lines, "\n")
}

// asked writes the sections of a session with an agent.
func (d *digest) asked(p *page) {
	w, end := done(d.tr), endOf(d.all)
	goal := d.goal()
	p.section("Goal: ", "", []string{goal}, maxGoal+10)
	requests := d.requests(goal)
	p.section("Decided: ", " ", d.bySort(draft.Decision), 380)
	p.section("Instructions and preferences: ", " ", append(d.bySort(draft.Instruction), d.bySort(draft.Preference)...), 280)
	p.section("To remember: ", " ", d.explicit(), 220)
	var passed, failing []string
	for _, c := range w.commands {
		switch {
		case c.failed && c.error != "":
			failing = append(failing, "`"+c.line+"`: "+c.error)
		case c.failed:
			failing = append(failing, "`"+c.line+"`")
		case c.seen:
			passed = append(passed, "`"+c.line+"`")
		}
	}
	p.section("Failing: ", "; ", failing, 260)
	var open []string
	if end.unanswered != "" {
		open = append(open, end.unanswered)
	}
	p.section("Open: ", "; ", append(open, end.open...), 260)
	if end.last != "" {
		p.section("Where it stopped: ", "", []string{end.last}, 180)
	}
	p.section("Candidate rules: ", " ", d.bySort(draft.Constraint), 160)
	p.section("Changed: ", ", ", w.files, 220)
	p.section("Passed: ", ", ", passed, 180)
	room := p.left - topicsShare
	d.said(p, room*3/5, []draft.Sort{draft.Fact})
	p.section("Also asked: ", " ", requests, p.left-topicsShare)
}

// heading returns the line with the participants and the date.
func (d *digest) heading() string {
	var who []string
	for i := range d.all {
		if n := d.all[i].name; n != "" && !slices.Contains(who, n) && len(who) < 4 {
			who = append(who, n)
		}
	}
	line := "Session"
	if len(who) > 0 {
		line = "Conversation of " + strings.Join(who, " and ")
	}
	first, last := d.all[0].entry.At, d.all[len(d.all)-1].entry.At
	if first.IsZero() {
		return line + "."
	}
	line += ", " + day(first)
	if !last.IsZero() && last.After(first) && day(last) != day(first) {
		line += " to " + day(last)
	}
	return line + "."
}

// bySort returns the candidates of a sort, in the order in which they were said.
func (d *digest) bySort(sort draft.Sort) []string {
	return d.texts(func(k *candidate) bool { return k.sort == sort })
}

// explicit returns the facts that the user asked to remember.
func (d *digest) explicit() []string {
	return d.texts(func(k *candidate) bool { return k.explicit && k.sort == draft.Fact })
}

func (d *digest) texts(which func(*candidate) bool) []string {
	var list []*candidate
	for i := range d.found {
		if k := &d.found[i]; which(k) && len(list) < 8 {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b *candidate) int { return a.order - b.order })
	var out []string
	for _, k := range list {
		text := capital(k.dated())
		if !k.from.person {
			text = "(proposed by the assistant) " + text
		}
		out = append(out, text)
	}
	return out
}

// said writes the statements that are most worth knowing, in their order, within room
// characters. sorts restricts them; nil takes all.
func (d *digest) said(p *page, room int, sorts []draft.Sort) {
	room = min(room, p.left)
	held := p.text()
	var list []*candidate
	for i := range d.found {
		k := &d.found[i]
		if sorts != nil && !slices.Contains(sorts, k.sort) || strings.Contains(held, k.text) {
			continue
		}
		if n := characters(k.attributed(1<<20)) + 1; n <= room {
			list = append(list, k)
			room -= n
		}
		if room < 40 {
			break
		}
	}
	slices.SortFunc(list, func(a, b *candidate) int { return a.order - b.order })
	for _, k := range list {
		p.line(k.attributed(1 << 20))
	}
}

// CoversSummary reports whether an episode's summary contains everything that another one
// does. Of a summary by rules, lines that every session has do not count: date, goal, how the
// session ended, what was only asked, and topics. A summary by a model is covered only by an
// equal one.
func CoversSummary(summary, other string) bool {
	if !strings.HasSuffix(other, draft.SummaryNote) {
		return summary == other
	}
	have := map[string]bool{}
	for line := range strings.Lines(summary) {
		have[strings.TrimSpace(line)] = true
	}
	for line := range strings.Lines(other) {
		line = strings.TrimSpace(line)
		if !have[line] && !slices.ContainsFunc(asides, func(a string) bool { return strings.HasPrefix(line, a) }) {
			return false
		}
	}
	return true
}

// asides begin the lines of a summary that report nothing decided, done or found.
var asides = []string{"Session", "Conversation of ", "Goal: ", "Open: ", "Where it stopped: ", "Also asked: ", "Topics: ", draft.SummaryNote}

// maxTopics bounds the topics of a summary.
const maxTopics = 60

// topic is a word that people used in a session.
type topic struct {
	word  string // as it was first written
	count int
	order int
	name  bool
}

// topics returns words that people used and the summary lacks: names first, then the most
// frequent. A later question may contain them.
func topics(d *digest, summary string, room int) string {
	known := map[string]bool{}
	for _, t := range analysis.Terms(summary) {
		known[t] = true
	}
	byTerm := map[string]*topic{}
	var all []*topic
	for i := range d.all {
		s := &d.all[i]
		for k := range s.parts {
			part := &s.parts[k]
			if hasCredential(part) {
				continue
			}
			named := names(part.words, nil)
			for j := range part.words {
				w := &part.words[j]
				if w.low == "" || part.text[0] == '[' || strings.ContainsFunc(w.low, isUnsearchable) || strings.Contains(w.low, "'") || self[w.low] || analysis.IsStopWord(w.low) || len(w.low) < 3 || len(w.low) > 40 {
					continue
				}
				term := analysis.Stem(w.low)
				if known[term] || vague()[term] || imperatives[w.low] {
					continue
				}
				t := byTerm[term]
				if t == nil {
					t = &topic{word: part.text[w.start:w.end], order: len(all)}
					byTerm[term] = t
					all = append(all, t)
				}
				t.count++
				t.name = t.name || named[term]
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *topic) int {
		return cmp.Or(cmp.Compare(b.value(), a.value()), cmp.Compare(a.order, b.order))
	})
	var words []string
	room -= len("Topics: .")
	for _, t := range all {
		w := t.word
		if !t.name {
			w = lower(w)
		}
		if n := characters(w) + 2; n <= room && len(words) < maxTopics {
			words = append(words, w)
			room -= n
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "Topics: " + strings.Join(words, ", ") + "."
}

func (t *topic) value() int {
	if t.name {
		return t.count + 2
	}
	return t.count
}

// isUnsearchable reports whether r is in no word that can be searched for.
func isUnsearchable(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("-_./'’+#", r)
}

// goal returns what the session was for: the beginning of the first message that is more than
// small talk.
func (d *digest) goal() string {
	for i := range d.all {
		s := &d.all[i]
		if !s.person {
			continue
		}
		var b strings.Builder
		for k := range s.parts {
			part := s.parts[k]
			part.open(nil)
			if hasCredential(&part) || b.Len() == 0 && substance(part.words) < 2 {
				continue
			}
			if b.Len() > 0 {
				if characters(b.String())+characters(part.text) >= maxGoal {
					break
				}
				b.WriteByte(' ')
			}
			b.WriteString(clip(unmarked(part.text), maxGoal))
		}
		if b.Len() > 0 {
			return b.String()
		}
	}
	return ""
}

// requests returns what the user asked for after the goal, in the user's words, without
// repetitions.
func (d *digest) requests(goal string) []string {
	var out []string
	known := map[string]bool{}
	for _, t := range analysis.Terms(goal) {
		known[t] = true
	}
	for i := range d.all {
		s := &d.all[i]
		if !s.person {
			continue
		}
		for _, part := range s.parts {
			part.open(nil)
			w := part.words
			if v := judge(&part, true); len(w) == 0 || v.reason == reasonSecret || !part.asks && !isUnmarkedQuestion(w) && v.reason != reasonRequest {
				continue
			}
			fresh := 0
			for _, t := range analysis.Terms(part.text) {
				if !known[t] && !vague()[t] {
					fresh++
				}
				known[t] = true
			}
			if fresh >= leastFresh && !vagueQuestion(w) {
				out = append(out, clip(unmarked(part.text), maxRequest))
			}
		}
	}
	return out
}

// HasStatement reports whether a person says anything in a session except questions, requests
// and small talk. The sentence need not be one that can be stored as a fact.
func HasStatement(tr *session.Transcript) bool {
	toAgent := !twoPeople(tr)
	for _, s := range speeches(tr) {
		if !s.person {
			continue
		}
		for _, part := range sentences(s.text) {
			part.open(nil)
			if part.asks || substance(part.words) < 2 || isUnmarkedQuestion(part.words) {
				continue
			}
			switch judge(&part, toAgent).reason {
			case reasonQuestion, reasonRequest, reasonTalk, reasonSecret:
			default:
				return true
			}
		}
	}
	return false
}

// leastFresh is how many new words a request must have, compared with those before it.
const leastFresh = 2

// substance counts the words that carry meaning.
func substance(words []word) (n int) {
	for i := range words {
		if w := words[i].low; w != "" && !analysis.IsStopWord(w) && !self[w] && !other[w] && !vague()[analysis.Stem(w)] {
			n++
		}
	}
	return n
}

// work records what was done with tools.
type work struct {
	files    []string // written files, in the order in which they were first written
	commands []command
	known    map[string]bool // paths of files, as the journal names them
}

// command is one command that was run, with its last outcome.
type command struct {
	line   string
	failed bool
	seen   bool   // the transcript has its result
	error  string // the last line of output that says what went wrong
}

// Bounds of what is recorded of a session's work.
const (
	maxFiles    = 200
	maxCommands = 200
	maxCommand  = 100 // characters
	maxError    = 160
	maxArgument = 64 << 10 // bytes; larger arguments of a call are not parsed
)

// done reads the tool calls and their results.
func done(tr *session.Transcript) work {
	w := work{known: map[string]bool{}}
	for i := range tr.Entries {
		for path := range tr.Entries[i].Files {
			w.known[path] = true
		}
	}
	calls := map[string]int{} // id of a call to its command
	byLine := map[string]int{}
	for i := range tr.Entries {
		e := &tr.Entries[i]
		for k := range e.Message.ToolCalls {
			w.call(&e.Message.ToolCalls[k], calls, byLine)
		}
		if e.Message.Role != "tool" {
			continue
		}
		if at, ok := calls[e.Message.ToolCallID]; ok {
			c := &w.commands[at]
			c.seen = true
			if c.failed, c.error = failed(body(e)); !c.failed {
				c.error = ""
			}
		}
	}
	return w
}

// call records the file that a tool call writes, or the command that it runs.
func (w *work) call(c *ken.ToolCall, calls, byLine map[string]int) {
	if len(c.Arguments) > maxArgument {
		return
	}
	var args map[string]any
	if json.Unmarshal([]byte(c.Arguments), &args) != nil {
		return
	}
	name := strings.ToLower(c.Name)
	if path := argument(args, "file_path", "path", "filepath", "file", "filename", "target_file", "notebook_path", "relative_path"); path != "" {
		if path = w.relative(path); writes(name, args) && len(w.files) < maxFiles && !slices.Contains(w.files, path) {
			w.files = append(w.files, path)
		}
		return
	}
	line := commandLine(argument(args, "command", "cmd", "script", "commandline"))
	if line == "" || readsOnly(line) {
		return
	}
	at, known := byLine[line]
	if !known {
		if len(w.commands) == maxCommands {
			return
		}
		at = len(w.commands)
		byLine[line] = at
		w.commands = append(w.commands, command{line: line})
	}
	calls[c.ID] = at
}

// writes reports whether a tool call changes the file that it names.
func writes(name string, args map[string]any) bool {
	switch argument(args, "command") { // the editor tools of some agents
	case "create", "str_replace", "insert":
		return true
	case "view":
		return false
	}
	return slices.ContainsFunc([]string{"write", "edit", "create", "replace", "patch", "insert", "append", "update"},
		func(verb string) bool { return strings.Contains(name, verb) })
}

// argument returns the first of the named arguments that is text. A list of words is joined.
func argument(args map[string]any, names ...string) string {
	for _, n := range names {
		switch v := args[n].(type) {
		case string:
			return v
		case []any:
			var words []string
			for _, x := range v {
				if s, ok := x.(string); ok {
					words = append(words, s)
				}
			}
			if len(words) > 2 && strings.HasSuffix(words[0], "sh") && strings.HasPrefix(words[1], "-") { // bash -lc "…"
				words = words[2:]
			}
			return strings.Join(words, " ")
		}
	}
	return ""
}

// relative returns the path as the journal names it, relative to the project's folder if the
// journal has it.
func (w *work) relative(path string) string {
	path = squeeze(path)
	for i := 0; i < len(path); i++ {
		if (i == 0 || path[i-1] == '/') && w.known[path[i:]] {
			return path[i:]
		}
	}
	return path
}

// commandLine returns the command as people would type it again: its first line, without the
// change of folder before it. It returns "" for a script or a long command.
func commandLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		if strings.Contains(s[:i], "<<") {
			return "" // a file or a script written in place
		}
		s = s[:i]
	}
	for strings.HasPrefix(s, "cd ") {
		_, rest, ok := strings.Cut(s, "&&")
		if !ok {
			return ""
		}
		s = strings.TrimSpace(rest)
	}
	s = squeeze(s)
	for _, tail := range [...]string{" 2>&1", " || true"} {
		s = strings.TrimSuffix(s, tail)
	}
	if i := strings.Index(s, " 2>&1 |"); i > 0 { // … | tail -5
		s = s[:i]
	}
	if characters(s) > maxCommand {
		return ""
	}
	return s
}

// readsOnly reports whether a command only reads. Its output says nothing about the state of the
// project.
func readsOnly(line string) bool {
	words := strings.Fields(line)
	for len(words) > 1 && (strings.Contains(words[0], "=") || words[0] == "sudo" || words[0] == "time" || words[0] == "timeout") {
		words = words[1:]
	}
	switch first := words[0]; {
	case first == "git" && len(words) > 1:
		return readOnlyCommands["git "+words[1]]
	default:
		return readOnlyCommands[first]
	}
}

var readOnlyCommands = func() map[string]bool {
	m := analysis.Set("ls cat head tail grep rg find cd pwd echo printf which type whoami env printenv wc du df ps stat file tree less more sed awk diff jq sleep date true false test cut sort uniq xxd od history export source")
	for _, sub := range []string{"status", "diff", "log", "show", "branch", "blame", "remote", "rev-parse", "ls-files"} {
		m["git "+sub] = true
	}
	return m
}()
