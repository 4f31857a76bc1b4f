package extract

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// entry is an item of a list that a person typed below a line that says what the list is.
type entry struct {
	sentence
	intro string
	about string // intro, and the heads of a table's columns
	text  string // intro and item
}

// style is how the lines of a list are written.
type style uint8

const (
	noList   style = iota
	bulleted       // - staging: 2 replicas
	assigned       // DB_POOL_SIZE=20
	paired         // gateway: 8080
	row            // | auth | Priya |
)

// Bounds of a list. A longer one was pasted.
const (
	mostEntries  = 12
	longestIntro = 120 // characters
	longestEntry = 160 // characters
	longestValue = 8   // words behind the colon of a pair
)

var (
	assignment = lazyregexp.New(`^[A-Za-z][\w.-]*=\S.*$`)
	pairing    = lazyregexp.New(`^([\pL\d][\pL\d_./-]*(?: [\pL\d_./-]+){0,2}): +(\S.*)$`)
	inline     = lazyregexp.New(`^[^:,;]{2,40}: ?[^,:;]{1,40}?(?: [-–→=] |=|: )[^,;:]{1,40}(?:[,;] [^,:;]{1,40}?(?: [-–→=] |=|: )[^,;:]{1,40})+$`)
	tableRule  = lazyregexp.New(`^[|:\- ]+$`)
	secretList = lazyregexp.New(`(?i)pass(?:words?|wds?|phrases?|codes?)\b|pwd|secret|token|credential|log-?ins?\b|\bpins?\b|(?:api|access|private|signing|encryption)[ _-]?keys?\b`)
	secretName = lazyregexp.New(`(?i)^[^=:]*(?:pass(?:word|wd|phrase|code)?\b|pass_|pwd|secret|token|credential|api[ _-]?key|access[ _-]?key|private|dsn|salt|cookie|session[ _-]?id)|^[^=:]*auth[^=:]*=`)
)

// styleOf returns how a line of a list is written, and its text.
func styleOf(line string) (style, string) {
	core, item := bullet(line)
	switch {
	case item:
		return bulleted, core
	case strings.HasPrefix(line, "|") && strings.Count(line, "|") > 2:
		return row, line
	case assignment.MatchString(line):
		return assigned, line
	}
	if m := pairing.FindStringSubmatch(line); m != nil && len(strings.Fields(m[2])) <= longestValue && !strings.HasSuffix(line, ":") {
		return paired, line
	}
	return noList, ""
}

// lists returns the items of the lists in a message that say something only below the line before them,
// and where these lists are. whole is where the lists are whose items are sentences.
func lists(text string) (out []entry, at, whole [][2]int) {
	if len(text) > headBytes {
		return nil, nil, nil
	}
	var intro string
	var found []entry
	kind, header, from, start := noList, []string(nil), 0, 0
	fence := false
	end := func(to int) {
		switch {
		case len(found) < 2 || len(found) > mostEntries:
		case wholeSentences(found) && !introducesRules(wordsOf(intro)):
			whole = append(whole, [2]int{from, to})
		default:
			out, at = append(out, found...), append(at, [2]int{from, to})
		}
		kind, found, header, intro = noList, nil, nil, ""
	}
	for line := range strings.Lines(text) {
		begin := start
		start += len(line)
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			fence = !fence
		}
		s, core := styleOf(trimmed)
		if kind != noList && s != kind {
			end(begin)
		}
		switch {
		case fence || trimmed == "" && kind != noList:
			end(begin)
		case (s == noList || s == paired) && kind == noList && inline.MatchString(trimmed):
			head, rest, _ := strings.Cut(trimmed, ":")
			if from = begin; introduction(head) != "" {
				for _, part := range strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == ';' }) {
					found = append(found, entryOf(text, begin, strings.TrimSpace(part), head, nil))
				}
			}
			end(start)
		case trimmed == "":
		case s == noList, intro == "" && s != row:
			intro, from = introduction(trimmed), begin
		case s == row && header == nil:
			if kind, header = row, cells(core); intro == "" {
				from = begin
			}
		case s == row && tableRule.MatchString(core):
		default:
			kind = s
			found = append(found, entryOf(text, begin, core, intro, header))
		}
	}
	end(len(text))
	return out, at, whole
}

// entryOf returns the item that is written as core in the line at begin.
func entryOf(text string, begin int, core, intro string, header []string) entry {
	at := begin + strings.Index(text[begin:], core)
	e := entry{sentence: sentence{start: at, end: at + len(core), full: core, text: core, words: wordsOf(core), item: true}, intro: intro, about: intro + " " + strings.Join(header, " ")}
	said := unmarked(core)
	if header != nil {
		said = ""
		for i, c := range cells(core) {
			if i >= len(header) || c == "" {
				continue
			}
			said += [...]string{" ", ": ", ", "}[min(i, 2)] + header[i] + " " + c
		}
	}
	e.text = strings.TrimSpace(said)
	if w := wordsOf(intro); len(w) > 0 && leadIn(w) < len(w) {
		e.text = capital(intro) + ": " + e.text
	}
	return e
}

func cells(line string) []string {
	out := strings.Split(strings.Trim(line, "| "), "|")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// wholeSentences reports whether most items of a list can be understood without the line before them.
func wholeSentences(list []entry) bool {
	n := 0
	for i := range list {
		if !pairing.MatchString(list[i].sentence.text) && hasVerb(list[i].words) && len(list[i].words) > 4 && !imperative(list[i].words) && forbids.starts(list[i].words) == 0 {
			n++
		}
	}
	return 2*n > len(list)
}

// introduction returns the text of a line that says what the list below it is, or "" if it does not or asks
// for something.
func introduction(line string) string {
	if _, item := bullet(line); item || characters(line) > longestIntro || !isProse(line) || strings.Contains(line, "?") {
		return ""
	}
	line = strings.TrimRight(unmarked(line), ":;,. ")
	s := sentence{full: line, text: line, words: wordsOf(line)}
	s.open(nil)
	w := s.words
	if len(w) > 0 && rulesAhead.in(w) >= 0 && requests.in(w) < 0 && !hasCredential(&s) {
		return s.text
	}
	if len(w) == 0 || requests.in(w) >= 0 || wants.starts(w) > 0 || imperative(w) || isUnmarkedQuestion(w) || hypotheses.in(w) >= 0 || has(w, len(w), shown) || hasCredential(&s) {
		return ""
	}
	for _, verb := range [...]string{" are", " is", " sind", " ist", " sont", " son", " são"} { // "Ports are"
		s.text = strings.TrimSuffix(s.text, verb)
	}
	return s.text
}

// shown holds words of lines that introduce what is shown to the agent and is no knowledge.
var shown = analysis.Set("error errors output outputs log logs trace stacktrace traceback diff result results message messages email text snippet example examples sample following please options option ideas idea choices steps question questions solution solutions proof e.g")

// How a list says that its items are rules or tasks.
var (
	listOfRules = analysis.Set("rule rules convention conventions guideline guidelines policy policies standards regeln grundregeln konventionen règles reglas normas regras")
	rulesAhead  = list("how we work, how we do things, follow these, stick to these, stick to the following, keep in mind, from now on, house style, code style, coding style, dos and don'ts, do's and don'ts, ways of working, working agreements")
	ofRules     = analysis.Set("project repo repository codebase team code please follow stick how work do things keep mind house style coding ways working agreements some before here ground house basic general few team start begin starting quick important ein einige paar vorab anfangen quelques de base avant commencer algunas unas umas básicas antes de empezar começar") // they don't say what the rules are for
	listOfTasks = list(`still open, left to do, to do, todo, todos, open points, open tasks, open items, remaining, still missing, not done yet, noch offen, offene punkte, reste à faire, pendiente, pendientes, pendências`)
)

// introducesRules reports whether a line says that the items below it are rules.
func introducesRules(w []word) bool { return has(w, len(w), listOfRules) || rulesAhead.in(w) >= 0 }

// lists adds candidates for the items of a message's lists, and returns where those lists are and where
// the lists of sentences are.
func (l *collector) lists(s *speech, room int) (at, whole [][2]int) {
	found, at, whole := lists(s.text)
	play := len(s.text)
	if i := slices.IndexFunc(s.parts, func(p sentence) bool { return beginsPlay(&p) }); len(found) > 0 && i >= 0 {
		play = s.parts[i].start
	}
	for i := range found {
		e := &found[i]
		k := candidate{from: s, text: e.text, quote: e.full, sort: draft.Fact, confidence: 0.8}
		w := wordsOf(e.intro)
		switch {
		case introducesRules(w):
			k.sort = draft.Instruction
			if !slices.ContainsFunc(w, func(w word) bool { return !listOfRules[w.low] && !ofRules[w.low] && !analysis.IsStopWord(w.low) }) {
				k.text = capital(unmarked(e.full))
			}
		case listOfTasks.in(w) >= 0:
			k.open, k.text = true, unmarked(e.full)
		}
		_, secrets := guardrail.Redact(e.text)
		switch {
		case e.start >= play:
			l.drop[reasonIf]++
		case holdsOnlyNow(&sentence{text: e.intro, words: w}), holdsOnlyNow(&e.sentence):
			l.drop[reasonRequest]++
		case len(secrets) > 0, hasCredential(&e.sentence), secretName.MatchString(e.full), secretList.MatchString(e.about):
			l.drop[reasonSecret]++
		case characters(e.text) > min(room, longestIntro+longestEntry):
			l.drop[reasonLong]++
		case e.asks || strings.HasSuffix(e.text, "?"):
			l.drop[reasonQuestion]++
		default:
			if k.terms = analysis.Terms(e.text); k.weigh(&sentence{text: e.text, full: e.text, words: wordsOf(e.text)}, l.present) {
				l.found = append(l.found, k)
			} else {
				l.drop[reasonEmpty]++
			}
		}
	}
	return at, whole
}

// within reports whether one of the places holds a sentence.
func within(places [][2]int, s *sentence) bool {
	return slices.ContainsFunc(places, func(at [2]int) bool { return s.start >= at[0] && s.end <= at[1] })
}
