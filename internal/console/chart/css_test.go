package chart

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// luminance is WCAG's relative luminance of a colour.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	hex = strings.TrimPrefix(hex, "#")
	if len(hex) == 3 {
		hex = strings.Repeat(hex[:1], 2) + strings.Repeat(hex[1:2], 2) + strings.Repeat(hex[2:], 2)
	}
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, weight := range []float64{.0722, .7152, .2126} {
		c := float64(n>>(8*i)&255) / 255
		if c <= .04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func TestColoursStandOutInBothSchemes(t *testing.T) {
	blocks := regexp.MustCompile(`:root[^{]*\{[^{}]*--c1[^{}]*\}`).FindAllString(CSS, -1)
	if len(blocks) != 3 {
		t.Fatalf("%d schemes, want light, dark by the system and dark by choice", len(blocks))
	}
	_, system, _ := strings.Cut(blocks[1], "{")
	_, choice, _ := strings.Cut(blocks[2], "{")
	if strings.Join(strings.Fields(system), " ") != strings.Join(strings.Fields(choice), " ") {
		t.Error("dark is not the same by system and by choice")
	}
	for i, block := range blocks {
		colour := map[string]string{}
		for _, m := range regexp.MustCompile(`--([\w-]+): (#\w+);`).FindAllStringSubmatch(block, -1) {
			colour[m[1]] = m[2]
		}
		against := luminance(t, colour["chart-surface"])
		for name, hex := range colour {
			least := 3.0
			switch name {
			case "chart-ink", "chart-soft", "chart-link":
				least = 4.5 // text
			case "chart-surface", "chart-line", "chart-track":
				continue // they only guide the eye
			}
			l := luminance(t, hex)
			if ratio := (max(l, against) + .05) / (min(l, against) + .05); ratio < least {
				t.Errorf("scheme %d: %s has %.2f:1 against the surface, want %.1f", i, name, ratio, least)
			}
		}
	}
}

func TestEveryClassHasItsRule(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range samples() {
		for _, m := range regexp.MustCompile(`class="([^"]*)"`).FindAllStringSubmatch(string(s.picture+s.table), -1) {
			for _, class := range strings.Fields(m[1]) {
				seen[class] = true
			}
		}
	}
	// What only names a kind of figure, or is like any other of its kind.
	for _, class := range []string{"chart-bars", "chart-stack", "chart-shares", "chart-lines", "chart-groups", "chart-waterfall", "chart-fusion", "chart-chain", "drawn"} {
		delete(seen, class)
	}
	for class := range seen {
		if !regexp.MustCompile(`\.` + class + `\b`).MatchString(CSS) {
			t.Errorf("chart.css has no rule for %s", class)
		}
	}
}
