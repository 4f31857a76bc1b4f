package retriever

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// period is a time that a question names. It has either the parts of a date, 0 for those that are
// not named, or the time from start (inclusive) to end (exclusive).
type period struct {
	year, month, day int
	start, end       time.Time
}

// holds returns how well a time matches: 1 within the period, less in the same month as a named day
// or in a named year, and 0 otherwise. Events are often recorded some days later, so the same month
// counts too.
func (p *period) holds(t time.Time) float64 {
	const (
		sameMonth = 0.5
		sameYear  = 0.3
	)
	switch {
	case t.IsZero():
		return 0
	case !p.end.IsZero():
		if !t.Before(p.start) && t.Before(p.end) {
			return 1
		}
		return 0
	case p.year != 0 && p.year != t.Year():
		return 0
	case p.month == 0:
		return sameYear
	case p.month != int(t.Month()):
		return 0
	case p.day != 0 && p.day != t.Day():
		return sameMonth
	}
	return 1
}

// withoutDates removes the words of dates from the shares. A date such as "in July 2022" usually
// refers to the record's time and rarely occurs in its text.
func withoutDates(res store.Result, question string) store.Result {
	const leastLeft = 0.2 // with less left, the question is about the date itself
	named := dateTerms(question)
	if len(named) == 0 || len(res.Terms) != len(res.Values) {
		return res
	}
	values, dated, rest := slices.Clone(res.Values), 0.0, 0.0
	for i, term := range res.Terms {
		if named[term] {
			dated += float64(values[i])
			values[i] = 0
		} else {
			rest += float64(values[i])
		}
	}
	left := math.Max(1-dated, math.Min(rest, 1)) // for many terms, res.Terms has only the most distinctive ones
	if dated == 0 || left < leastLeft {
		return res
	}
	for i := range values {
		values[i] = float32(float64(values[i]) / left)
	}
	res.Values, res.Hits = values, slices.Clone(res.Hits)
	for i := range res.Hits {
		h := &res.Hits[i]
		if len(h.Parts) != len(values) {
			continue
		}
		h.Share = 0
		for k, part := range h.Parts {
			if part > 0 {
				h.Share += float64(values[k])
			}
		}
		h.Share = math.Min(1, h.Share)
	}
	return res
}

func dateTerms(question string) map[string]bool {
	words := dateWords(question)
	terms := map[string]bool{}
	for i := range dated(words) {
		for _, t := range analysis.Terms(words[i]) {
			terms[t] = true
		}
	}
	return terms
}

// dated returns the indices of the words that are part of dates.
func dated(words []string) map[int]bool {
	at := map[int]bool{}
	for i := range words {
		if _, ok := date(words[i]); ok || year(words[i]) != 0 {
			at[i] = true
		}
		if month(words, i) != 0 {
			at[i] = true
			for _, k := range []int{i - 2, i - 1, i + 1} {
				if k >= 0 && k < len(words) && day(words[k]) != 0 {
					at[k] = true
				}
			}
		}
	}
	return at
}

// undated returns a question without its dates, for the comparison with texts. If nothing else is
// left, it returns the question.
func undated(question string) string {
	at := dated(dateWords(question))
	if len(at) == 0 {
		return question
	}
	var kept []string
	n := 0
	for field := range strings.FieldsSeq(question) {
		drop, words := false, dateWords(field)
		for range words {
			drop = drop || at[n]
			n++
		}
		if !drop {
			kept = append(kept, field)
		}
	}
	if len(kept) < 2 {
		return question
	}
	return strings.Join(kept, " ")
}

// periods returns the times that a question names, such as "in May 2023", "on 1 May", "2023-05-01",
// "in 2022", "yesterday" and "last week". The last two are relative to now and ignored if now is
// zero. Weeks begin on Monday; times are UTC.
func periods(question string, now time.Time) []period {
	words := dateWords(question)
	var out []period
	for i := 0; i < len(words); i++ {
		if t, ok := date(words[i]); ok {
			out = append(out, period{year: t.Year(), month: int(t.Month()), day: t.Day()})
			continue
		}
		if p, ok := relative(words[i:], now); ok {
			out = append(out, p)
			continue
		}
		if m := month(words, i); m != 0 {
			p := period{month: m}
			if i > 0 {
				p.day = day(words[i-1])
			}
			if i > 1 && words[i-1] == "of" {
				p.day = day(words[i-2])
			}
			next := i + 1
			if p.day == 0 && next < len(words) {
				if p.day = day(words[next]); p.day != 0 {
					next++
				}
			}
			if next < len(words) {
				if p.year = year(words[next]); p.year != 0 {
					i = next
				}
			}
			out = append(out, p)
			continue
		}
		if y := year(words[i]); y != 0 {
			out = append(out, period{year: y})
		}
	}
	return out
}

func dateWords(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
}

var monthNames = func() map[string]int {
	m := map[string]int{}
	for i := time.January; i <= time.December; i++ {
		name := strings.ToLower(i.String())
		m[name] = int(i)
		m[name[:3]] = int(i)
	}
	m["sept"] = int(time.September)
	delete(m, "mar") // these words have other meanings
	delete(m, "dec")
	return m
}()

// month returns the month that words[i] names; 0 if none. May and march are also verbs: they need a
// number next to them, or a word that often precedes times.
func month(words []string, i int) int {
	m := monthNames[words[i]]
	if words[i] != "may" && words[i] != "march" {
		return m
	}
	for _, k := range []int{i - 1, i + 1} {
		if k >= 0 && k < len(words) && (day(words[k]) != 0 || year(words[k]) != 0) {
			return m
		}
	}
	if i > 0 {
		switch words[i-1] {
		case "in", "of", "during", "since", "until", "by", "last", "early", "late", "mid":
			return m
		}
	}
	return 0
}

// date parses a date such as 2023-05-01. Most words have another length; an error of time.Parse
// would take memory for each of them.
func date(word string) (t time.Time, ok bool) {
	if len(word) != len(time.DateOnly) {
		return t, false
	}
	t, err := time.Parse(time.DateOnly, word)
	return t, err == nil
}

func day(word string) int {
	for _, suffix := range []string{"st", "nd", "rd", "th"} {
		word = strings.TrimSuffix(word, suffix)
	}
	if n, err := strconv.Atoi(word); err == nil && len(word) <= 2 && n >= 1 && n <= 31 {
		return n
	}
	return 0
}

func year(word string) int {
	if len(word) != 4 || word[0] != '1' && word[0] != '2' {
		return 0
	}
	if n, err := strconv.Atoi(word); err == nil && n >= 1900 && n < 2100 {
		return n
	}
	return 0
}

// relative parses today, yesterday, and this or last week, month or year.
func relative(words []string, now time.Time) (period, bool) {
	if now.IsZero() {
		return period{}, false
	}
	now = now.UTC()
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	switch words[0] {
	case "today":
		return period{start: today, end: today.AddDate(0, 0, 1)}, true
	case "yesterday":
		return period{start: today.AddDate(0, 0, -1), end: today}, true
	case "this", "last":
		if len(words) < 2 {
			break
		}
		back := 0
		if words[0] == "last" {
			back = 1
		}
		switch words[1] {
		case "week":
			monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7-7*back)
			return period{start: monday, end: monday.AddDate(0, 0, 7)}, true
		case "month":
			first := time.Date(now.Year(), now.Month()-time.Month(back), 1, 0, 0, 0, 0, time.UTC)
			return period{start: first, end: first.AddDate(0, 1, 0)}, true
		case "year":
			first := time.Date(now.Year()-back, time.January, 1, 0, 0, 0, 0, time.UTC)
			return period{start: first, end: first.AddDate(1, 0, 0)}, true
		}
	}
	return period{}, false
}
