package extract

import (
	"testing"
	"time"
)

func TestExplain(t *testing.T) {
	monday := time.Date(2023, time.May, 8, 13, 56, 0, 0, time.UTC)
	thursday := monday.AddDate(0, 0, 3)
	sunday := monday.AddDate(0, 0, 6)
	newYear := time.Date(2024, time.January, 1, 0, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		at         time.Time
		text, want string
	}{
		{monday, "I went yesterday.", "I went yesterday (7 May 2023)."},
		{monday, "Today, it rained", "Today (8 May 2023), it rained"},
		{monday, "we fly tomorrow!", "we fly tomorrow (9 May 2023)!"},
		{monday, "I slept badly last night.", "I slept badly last night (7 May 2023)."},
		{newYear, "I went yesterday.", "I went yesterday (31 December 2023)."},
		{monday, "I ran last Saturday.", "I ran last Saturday (6 May 2023)."},
		{monday, "See you this Friday.", "See you this Friday (12 May 2023)."},
		{sunday, "See you next Friday.", "See you next Friday (19 May 2023)."},
		{monday, "I moved last month.", "I moved last month (April 2023)."},
		{newYear, "I moved last month.", "I moved last month (December 2023)."},
		{monday, "I retired last year and sail this year.", "I retired last year (2022) and sail this year (2023)."},
		{monday, "It starts next week.", "It starts next week (the week of 15 May 2023)."},
		{thursday, "It was last weekend.", "It was last weekend (the weekend of 6 May 2023)."},
		{monday, "We met three days ago.", "We met three days ago (5 May 2023)."},
		{monday, "We met two weeks ago.", "We met two weeks ago (the week of 24 April 2023)."},
		{monday, "We met 10 years ago.", "We met 10 years ago (2013)."},
		{monday, "We met a month ago.", "We met a month ago (April 2023)."},
		{monday, "We met last June.", "We met last June (June 2022)."},
		{monday, "We meet next June.", "We meet next June (June 2023)."},

		// What may mean two dates, or none.
		{thursday, "I saw her last Tuesday.", "I saw her last Tuesday."},
		{monday, "See you next Friday.", "See you next Friday."},
		{monday, "See you on Friday.", "See you on Friday."},
		{sunday, "It was last weekend.", "It was last weekend."},
		{monday, "It took the last week.", "It took the last week."},
		{monday, "A few days ago we met.", "A few days ago we met."},
		{monday, "It feels like yesterday.", "It feels like yesterday."},
		{monday, "the day before yesterday", "the day before yesterday"},
		{monday, "the day after tomorrow", "the day after tomorrow"},
		{monday, "last but not least", "last but not least"},
		{monday, "I went yesterday (Sunday).", "I went yesterday (Sunday)."},
		{monday, "Run `yesterday` first.", "Run `yesterday` first."},
		{time.Time{}, "I went yesterday.", "I went yesterday."},

		{monday, "today tomorrow yesterday", "today (8 May 2023) tomorrow (9 May 2023) yesterday"},
	} {
		if got := explain(tt.text, tt.at); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.at.Weekday(), got, tt.want)
		}
	}
}

// The date is that of the place where it was said.
func TestExplainKeepsTheZone(t *testing.T) {
	tokyo := time.FixedZone("Tokyo", 9*60*60)
	at := time.Date(2023, time.May, 8, 23, 30, 0, 0, time.UTC)
	if got, want := explain("today", at.In(tokyo)), "today (9 May 2023)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
