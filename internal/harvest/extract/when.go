package extract

import (
	"strconv"
	"strings"
	"time"
)

// mostDates bounds how many dates are added to a sentence.
const mostDates = 2

// explain adds to the words of a sentence that name a day by its distance the date
// that they mean: "yesterday (7 May 2023)". What could mean two dates stays as it
// is, and so does everything when at is unknown. A week is named by its Monday.
func explain(text string, at time.Time) string {
	if at.IsZero() {
		return text
	}
	words := wordsOf(text)
	var b strings.Builder
	done, n := 0, 0
	for i := 0; i < len(words) && n < mostDates; i++ {
		span, date := meant(words, i, at)
		if date == "" {
			continue
		}
		end := words[i+span-1].end
		if strings.HasPrefix(strings.TrimLeft(text[end:], " "), "(") {
			continue // the speaker said it
		}
		b.WriteString(text[done:end])
		b.WriteString(" (" + date + ")")
		done = end
		n++
		i += span - 1
	}
	b.WriteString(text[done:])
	return b.String()
}

// meant returns how many words from i on name a time by its distance, and the date.
func meant(words []word, i int, at time.Time) (span int, date string) {
	first, second := low(words, i), low(words, i+1)
	before := low(words, i-1)
	switch first {
	case "yesterday":
		if before == "before" || before == "just" || before == "like" {
			return 0, ""
		}
		return 1, day(at.AddDate(0, 0, -1))
	case "today", "tonight":
		return 1, day(at)
	case "tomorrow":
		if before == "after" {
			return 0, ""
		}
		return 1, day(at.AddDate(0, 0, 1))
	case "last", "next", "this":
		if before == "the" || before == "of" || before == "past" || before == "every" {
			return 0, "" // "the last week" is a stretch of time
		}
		return 2, turn(first, second, at)
	}
	if n := amount(words, i); n > 0 && low(words, i+2) == "ago" {
		return 3, ago(n, second, at)
	}
	return 0, ""
}

// turn is what "last", "this" and "next" make of a unit; "" when that is not certain.
func turn(which, unit string, at time.Time) string {
	step := map[string]int{"last": -1, "this": 0, "next": 1}[which]
	monday := at.AddDate(0, 0, -(int(at.Weekday())+6)%7)
	switch unit {
	case "night":
		if step == -1 {
			return day(at.AddDate(0, 0, -1))
		}
	case "morning", "afternoon", "evening":
		if step == 0 {
			return day(at)
		}
	case "week":
		return "the week of " + day(monday.AddDate(0, 0, 7*step))
	case "weekend":
		if step == -1 && monday.AddDate(0, 0, 5).Before(at) {
			return "" // on a Sunday it may mean this one
		}
		return "the weekend of " + day(monday.AddDate(0, 0, 7*step+5))
	case "month":
		first := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, at.Location()).AddDate(0, step, 0)
		return first.Format("January 2006")
	case "year":
		return strconv.Itoa(at.Year() + step)
	}
	if d, ok := weekdays[unit]; ok {
		return weekday(d, step, monday, at)
	}
	if m, ok := monthsByName[unit]; ok && step != 0 {
		year := at.Year()
		switch {
		case step < 0 && m >= at.Month():
			year--
		case step > 0 && m <= at.Month():
			year++
		}
		return m.String() + " " + strconv.Itoa(year)
	}
	return ""
}

// weekday is the day that "last Friday" and the like mean. Where a day of this week
// and one of another could be meant, it is "".
func weekday(d, step int, monday, at time.Time) string {
	here := monday.AddDate(0, 0, d)
	past, future := here.Day() != at.Day() && here.Before(at), here.Day() != at.Day() && here.After(at)
	switch {
	case step < 0 && !past:
		return day(here.AddDate(0, 0, -7))
	case step > 0 && !future:
		return day(here.AddDate(0, 0, 7))
	case step == 0 && future:
		return day(here)
	}
	return ""
}

// ago is the time n units before at: a day, a week, a month or a year.
func ago(n int, unit string, at time.Time) string {
	switch strings.TrimSuffix(unit, "s") {
	case "day":
		return day(at.AddDate(0, 0, -n))
	case "week":
		return "the week of " + day(at.AddDate(0, 0, -7*n-(int(at.Weekday())+6)%7))
	case "month":
		return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, at.Location()).AddDate(0, -n, 0).Format("January 2006")
	case "year":
		return strconv.Itoa(at.Year() - n)
	}
	return ""
}

// amount reads a small number: "3", "two", "a".
func amount(words []word, i int) int {
	w := low(words, i)
	if n, err := strconv.Atoi(w); err == nil && n > 0 && n < 200 {
		return n
	}
	if w == "an" {
		return 1
	}
	for n, name := range [...]string{"", "a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"} {
		if w != "" && w == name {
			return max(n, 1)
		}
	}
	return 0
}

func day(t time.Time) string { return t.Format("2 January 2006") }

// weekdays count from Monday.
var weekdays = map[string]int{"monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5, "sunday": 6,
	"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thurs": 3, "fri": 4, "sat": 5, "sun": 6}

var monthsByName = func() map[string]time.Month {
	m := map[string]time.Month{}
	for i := time.January; i <= time.December; i++ {
		m[lower(i.String())] = i
	}
	return m
}()
