package dataset

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// layouts are the ways in which the sets write a time, in the order of trial.
var layouts = []string{
	time.RFC3339Nano,
	"2006-01-02 15:04:05",
	"2006-01-02T15:04:05",
	"2006-01-02 15:04",
	time.DateOnly,
	"2006/01/02 15:04", // LongMemEval, after its weekday is taken out
	"2006/01/02",
	"3:04 pm on 2 January, 2006", // LoCoMo
	"January-02-2006",            // BEAM
	"January-2-2006",
	"2 January, 2006",
	"2 January 2006",
	"January 2, 2006",
}

var weekday = lazyregexp.New(`\s*\([A-Za-z]{2,9}\)\s*`)

var errTime = errors.New("a date that can't be read")

// ParseTime reads a time as the sets write it, such as "1:56 pm on 8 May, 2023",
// "March-15-2024", "2023/05/30 (Tue) 21:48" and RFC 3339. Without a zone it is UTC.
// "" is the zero time.
func ParseTime(s string) (time.Time, error) {
	if s = strings.TrimSpace(s); s == "" {
		return time.Time{}, nil
	}
	clean := strings.TrimSpace(weekday.ReplaceAllString(s, " "))
	for _, layout := range layouts {
		for _, try := range []string{clean, strings.ToLower(clean)} { // "PM" and "pm"
			if t, err := time.Parse(layout, try); err == nil {
				return bounded(t.UTC())
			}
		}
	}
	return time.Time{}, errors.Join(errTime, errors.New(strconv.Quote(shorten(s))))
}

// bounded refuses what RFC 3339 can't write: no claim can be that old.
func bounded(t time.Time) (time.Time, error) {
	if y := t.Year(); y < 1 || y > 9999 {
		return time.Time{}, errTime
	}
	return t, nil
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
