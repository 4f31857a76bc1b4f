package chart

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// ticks returns about want round values that cover a range.
func ticks(low, high float64, want int) []float64 {
	low, high = bounded(low), bounded(high)
	if high <= low {
		high = low + max(1, math.Abs(low)*.1)
	}
	raw := (high - low) / float64(max(1, want))
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * unit
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*unit >= raw*.999 {
			step = m * unit
			break
		}
	}
	var out []float64
	for i := math.Floor(low/step + 1e-9); len(out) < 4*want+4; i++ {
		v := i * step
		if math.Abs(v) < step/1e6 {
			v = 0
		}
		if out = append(out, v); v >= high-step*1e-9 {
			break
		}
	}
	return out
}

// decades returns the values of a logarithmic scale that covers a range above 0: 1, 2
// and 5 of each power of ten if there is room for them, else only the powers.
func decades(low, high float64) []float64 {
	low = max(low, 1e-6)
	high = max(high, low)
	from, to := math.Floor(math.Log10(low)+1e-9), math.Ceil(math.Log10(high)-1e-9)
	var out []float64
	if to-from <= 4 {
		for e := from; e <= to; e++ {
			for _, m := range []float64{1, 2, 5} {
				out = append(out, m*math.Pow(10, e))
			}
		}
		for len(out) > 2 && out[1] <= low*(1+1e-9) {
			out = out[1:]
		}
		for len(out) > 2 && out[len(out)-2] >= high*(1-1e-9) {
			out = out[:len(out)-1]
		}
		return out
	}
	each := max(1, math.Ceil((to-from)/7))
	for e := from; ; e += each {
		out = append(out, math.Pow(10, e))
		if e >= to {
			return out
		}
	}
}

// tick is a position on a time axis.
type tick struct {
	at    time.Time
	label string
}

// timeTicks returns at most want times within a range that are round in from's location. The
// first one of a day shows the date.
func timeTicks(from, to time.Time, want int) []tick {
	want = max(2, want)
	span := to.Sub(from) // saturates on overflow
	if span <= 0 {
		return []tick{{from, from.Format("2 Jan 15:04")}}
	}
	day := 24 * time.Hour
	for _, step := range []time.Duration{time.Second, 10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour} {
		if span/step <= time.Duration(want) {
			return clockTicks(from, to, step)
		}
	}
	days := 1
	for _, n := range []int{1, 2, 7, 14} {
		if days = n; span/(day*time.Duration(n)) <= time.Duration(want) {
			return dayTicks(from, to, func(t time.Time) time.Time { return t.AddDate(0, 0, days) }, "2 Jan")
		}
	}
	months := 1
	for _, n := range []int{1, 3, 6, 12, 60, 120, 600, 1200} {
		if months = n; span/(30*day*time.Duration(n)) <= time.Duration(want) {
			break
		}
	}
	month := from.Month()
	if months >= 12 {
		month = time.January
	}
	first := time.Date(from.Year(), month, 1, 0, 0, 0, 0, from.Location())
	return dayTicks(first, to, func(t time.Time) time.Time { return t.AddDate(0, months, 0) }, "Jan 2006", from)
}

// clockTicks returns times of the day in steps from midnight, so that they are round in
// the location with any offset.
func clockTicks(from, to time.Time, step time.Duration) (out []tick) {
	midnight := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, from.Location())
	layout := "15:04"
	if step < time.Minute {
		layout = "15:04:05"
	}
	day := -1
	for t := midnight.Add(from.Sub(midnight).Truncate(step)); !t.After(to) && len(out) < 50; t = t.Add(step) {
		if t.Before(from) {
			continue
		}
		label := t.Format(layout)
		if t.YearDay() != day && (day >= 0 || len(out) == 0) {
			day = t.YearDay()
			if t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0 {
				label = t.Format("2 Jan")
			} else {
				label = t.Format("2 Jan ") + label
			}
		}
		out = append(out, tick{t, label})
	}
	return out
}

// dayTicks returns midnights, each given by next, not before the earliest.
func dayTicks(from, to time.Time, next func(time.Time) time.Time, layout string, earliest ...time.Time) (out []tick) {
	after := from
	if len(earliest) > 0 {
		after = earliest[0]
	}
	t := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, from.Location())
	for ; !t.After(to) && len(out) < 50; t = next(t) {
		if !t.Before(after) {
			out = append(out, tick{t, t.Format(layout)})
		}
	}
	return out
}

// spread moves labels apart: they stay between low and high and in their order, at
// least distance apart if there is room. It changes places.
func spread(places []float64, distance, low, high float64) {
	distance = min(distance, (high-low)/float64(max(1, len(places)-1)))
	for i := range places {
		places[i] = max(places[i], low+float64(i)*distance)
		if i > 0 {
			places[i] = max(places[i], places[i-1]+distance)
		}
	}
	for i := len(places) - 1; i >= 0; i-- {
		places[i] = min(places[i], high-float64(len(places)-1-i)*distance)
	}
}

// ceiling is the largest value that is drawn to scale. Texts show the exact value.
const ceiling = 1e15

// bounded limits a value to a range that is safe to compute with: NaN becomes 0, and
// infinity becomes ceiling.
func bounded(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return max(-ceiling, min(ceiling, v))
}

// part returns a value limited to 0 and above.
func part(v float64) float64 { return max(0, bounded(v)) }

// number formats a value with three significant digits, whole numbers in full.
func number(v float64) string {
	abs := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return "–"
	case math.IsInf(v, 0):
		return strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+")
	case abs >= ceiling, abs > 0 && abs < 1e-4:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case abs >= 100, v == math.Trunc(v):
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	}
	decimals := 2
	if abs >= 10 {
		decimals = 1
	} else if abs < 1 {
		decimals = 2 - int(math.Floor(math.Log10(abs)))
		decimals = min(decimals, 5)
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// thousands inserts commas into a whole number.
func thousands(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

func amount(v float64, unit string) string {
	if unit == "" || math.IsNaN(v) {
		return number(v)
	}
	if v == 1 && len(unit) > len("ms") {
		unit = strings.TrimSuffix(unit, "s") // singular of a unit such as claims
	}
	return number(v) + "\u00a0" + unit
}

// percent formats a share from 0 to 1. A share above 0 is never shown as 0, and one
// below 1 never as 100.
func percent(share float64) string {
	switch {
	case math.IsNaN(share):
		return "–"
	case share > 0 && share < .01:
		return "<1\u00a0%"
	case share < 1 && share > .99:
		return ">99\u00a0%"
	}
	return strconv.FormatFloat(math.Round(bounded(share)*100), 'f', 0, 64) + "\u00a0%"
}

// share returns v as a part of whole, or 0 if whole is 0.
func share(v, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part(v) / whole
}

// plural formats a count with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(strconv.Itoa(n)) + " " + many
}
