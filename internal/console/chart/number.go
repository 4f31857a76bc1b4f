package chart

import (
	"math"
	"strconv"
	"strings"
)

// ceiling bounds what is drawn to scale. Texts have the value as it is.
const ceiling = 1e15

// bounded makes a value safe to reckon with: NaN is nothing, and infinity the ceiling.
func bounded(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return max(-ceiling, min(ceiling, v))
}

// part is a value that can't be negative.
func part(v float64) float64 { return max(0, bounded(v)) }

// number writes a value with three digits that count, whole ones in full.
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

// thousands puts commas into a whole number.
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

// amount is a value with its unit.
func amount(v float64, unit string) string {
	if unit == "" || math.IsNaN(v) {
		return number(v)
	}
	if v == 1 && len(unit) > len("ms") {
		unit = strings.TrimSuffix(unit, "s") // of what is counted, such as claims
	}
	return number(v) + "\u00a0" + unit
}

// percent is a share from 0 to 1. What is there is not called nothing, and what is not
// all is not called all.
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

// share is a part of a whole, 0 where there is no whole.
func share(v, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part(v) / whole
}

// plural counts things.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(strconv.Itoa(n)) + " " + many
}
