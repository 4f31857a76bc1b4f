package modeltest

import (
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// Answer is the answer to an extraction. A merge's answer has no Facts.
type Answer struct {
	Summary string `json:"summary"`
	Facts   []Fact `json:"facts"`
}

// Fact is one fact of an Answer.
type Fact struct {
	Text       string   `json:"text"`
	Quote      string   `json:"quote"`
	Message    int      `json:"message"`
	Sort       string   `json:"sort"`
	Entities   []string `json:"entities"`
	Confidence float64  `json:"confidence"`
}

// Reply returns a Play that answers with a as JSON.
func Reply(a Answer) Play {
	if a.Facts == nil {
		a.Facts = []Fact{}
	}
	return Says(encode(a))
}

// Echo returns a Play that answers with what the user says in the request, as a
// plausible model would. Its facts are statements in the third person, at most 12,
// each with its own words as the quote; questions and small talk are left out. Its
// summary is the first and the last thing that the user says. It is deterministic.
func Echo() Play {
	return func(w http.ResponseWriter, _ *http.Request, req *Request) {
		a := echo(req)
		if req.part() == nil {
			say(w, req, encode(map[string]string{"summary": a.Summary}), "stop")
			return
		}
		say(w, req, encode(a), "stop")
	}
}

func echo(req *Request) Answer {
	if req.part() == nil {
		return Answer{Summary: strings.Join(req.summaries(), " ")}
	}
	a := Answer{Facts: []Fact{}}
	var said []string
	for _, m := range req.part() {
		if m.who != "user" {
			continue
		}
		for _, s := range split(m.text) {
			said = append(said, s)
			words := len(strings.Fields(s))
			if strings.HasSuffix(s, "?") || words < 4 || words > 40 || len(a.Facts) == 12 {
				continue
			}
			a.Facts = append(a.Facts, Fact{Text: third(s), Quote: s, Message: m.number, Sort: sortOf(s),
				Entities: names(s), Confidence: 0.9 - 0.01*float64(len(a.Facts))})
		}
	}
	switch len(said) {
	case 0:
		a.Summary = "The agent worked without a word of the user."
	case 1:
		a.Summary = "The user said: " + said[0]
	default:
		a.Summary = "The user began with: " + said[0] + " The last word was: " + said[len(said)-1]
	}
	if utf8.RuneCountInString(a.Summary) > 1500 {
		a.Summary = string([]rune(a.Summary)[:1500])
	}
	return a
}

// shown is a message in the form in which a request shows it.
type shown struct {
	number int
	who    string
	text   string
}

var header = lazyregexp.New(`^=== message (\d+): ([a-z]+)(?:[ ,].*)? ===$`)

// part returns the messages that the request asks to report on; nil for other
// requests.
func (r *Request) part() []shown {
	var all []shown
	for _, line := range r.framed("----- transcript -----", "----- end of transcript -----") {
		if m := header.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			all = append(all, shown{number: n, who: m[2]})
		} else if text, ok := strings.CutPrefix(line, "| "); ok && len(all) > 0 {
			last := &all[len(all)-1]
			last.text += text + "\n"
		}
	}
	return all
}

// summaries returns the summaries that the request asks to merge.
func (r *Request) summaries() []string {
	var all []string
	for _, line := range r.framed("----- parts -----", "----- end of parts -----") {
		if text, ok := strings.CutPrefix(line, "| "); ok {
			all = append(all, text)
		}
	}
	return all
}

// framed returns the lines between the lines open and end of the first user
// message.
func (r *Request) framed(open, end string) []string {
	for _, m := range r.Messages {
		if m.Role != "user" {
			continue
		}
		_, after, ok := strings.Cut("\n"+m.Content, "\n"+open+"\n")
		inside, _, closed := strings.Cut(after, "\n"+end+"\n")
		if ok && closed {
			return strings.Split(inside, "\n")
		}
		return nil
	}
	return nil
}

// split returns the sentences of a text.
func split(text string) []string {
	var all []string
	start := 0
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		stop := strings.ContainsRune(".!?", r) && (end == len(text) || text[end] == ' ' || text[end] == '\n')
		if !stop && !strings.ContainsRune("\n。！？", r) {
			continue
		}
		if s := strings.TrimSpace(text[start:end]); s != "" {
			all = append(all, s)
		}
		start = end
	}
	if s := strings.TrimSpace(text[start:]); s != "" {
		all = append(all, s)
	}
	return all
}

var person = strings.NewReplacer(" I prefer ", " the user prefers ", " I like ", " the user likes ", " I love ", " the user loves ", " I hate ", " the user hates ",
	" I want ", " the user wants ", " I need ", " the user needs ", " I use ", " the user uses ", " I work ", " the user works ", " I live ", " the user lives ", " I'm ", " the user is ", " I am ", " the user is ", " I've ", " the user has ", " I have ", " the user has ",
	" I'll ", " the user will ", " I'd ", " the user would ", " I was ", " the user was ", " I ", " the user ", " my ", " the user's ", " My ", " the user's ",
	" me ", " the user ", " me.", " the user.", " we ", " the team ", " We ", " the team ", " our ", " the team's ", " Our ", " the team's ")

// third rewrites a sentence of the user in the third person.
func third(s string) string {
	s = strings.TrimSpace(person.Replace(" " + s + " "))
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

// sortOf guesses the sort of a statement from its words.
func sortOf(s string) string {
	s = " " + strings.ToLower(s) + " "
	for _, kind := range []struct {
		name  string
		words []string
	}{
		{"preference", []string{" prefer", " i like", " i love", " i hate", " favorite", " favourite", " rather "}},
		{"decision", []string{" decided", " let's use", " let's go with", " we go with", " we'll use", " we will use", " agreed"}},
		{"instruction", []string{" always ", " never ", " please ", " don't ", " do not ", " from now on"}},
		{"constraint", []string{" must ", " may not ", " at most ", " at least ", " only ", " required"}},
	} {
		for _, w := range kind.words {
			if strings.Contains(s, w) {
				return kind.name
			}
		}
	}
	return "fact"
}

// names returns the words that look like names: with a capital within a sentence,
// or with a character that is used in paths and identifiers.
func names(s string) []string {
	all := []string{}
	for i, w := range strings.Fields(s) {
		w = strings.Trim(w, ".,;:!?\"'()`")
		r, size := utf8.DecodeRuneInString(w)
		capital := i > 0 && unicode.IsUpper(r) && size < len(w)
		if (capital || strings.ContainsAny(w, "/_.") || strings.IndexFunc(w[size*min(1, len(w)):], unicode.IsUpper) >= 0) && len(all) < 8 && len(w) > 1 && !strings.HasPrefix(w, "I'") {
			all = append(all, w)
		}
	}
	return all
}
