package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
)

// all are every chart and table with one label in every place and some numbers.
func all(label string, values ...float64) []template.HTML {
	at := func(i int) float64 { return values[i%len(values)] }
	href := "/console/" + label
	bars := BarsData{Title: label, Unit: label, Bars: []Bar{{label, at(0), href}, {label, at(1), label}}}
	stack := StackData{Title: label, Unit: label, Parts: []Part{{label, at(0), label, Tone(label)}, {label, at(1), label, Bad}, {"b", at(2), "", ""}}}
	when := time.Unix(int64(bounded(at(0))), 0)
	shares := SharesData{Title: label, Unit: label, Names: []string{label, "b"}, Width: time.Duration(bounded(at(1))), Buckets: []Bucket{{when, values}, {noon, nil}, {noon.Add(time.Hour), []float64{1}}}}
	lines := LinesData{Title: label, Unit: label, Times: []time.Time{noon, when, noon.Add(time.Hour)}, Series: []Series{{label, values, Tone(label)}, {"b", []float64{1, at(1), 3, 4}, Warn}}}
	timed := lines
	timed.Log = true
	group := GroupsData{Title: label, Unit: label, Max: at(3), Names: []string{label, "b"}, Groups: []Group{{label, []Interval{{at(0), at(1), at(2)}, {at(1), at(0), at(3)}, {}}}, {"b", nil}}}
	fall := WaterfallData{Title: label, Stages: []Stage{{label, at(0), at(1), label, Tone(label)}, {"b", at(1), at(2), "", ""}}}
	rank := int(bounded(at(0)))
	fuse := FusionData{Title: label, Legs: []string{label, "b"}, Items: []Fused{{label, href, []int{rank}, false, label}, {label, label, []int{1, 2, 3}, true, label}}}
	graph := GraphData{Title: label, Nodes: []Node{{label, label, label, href, rank, true, label}, {"b", label, "", label, 0, true, ""}, {"b", "twice", "", "", 0, false, ""}},
		Edges: []Edge{{label, "b", label, at(0), true}, {"b", label, label, at(1), false}, {label, label, label, at(2), false}, {"b", "nobody", "", 0, false}}}
	chain := ChainData{Title: label, Versions: []Version{{label, label, href, label, true}, {"b", "b", label, label, false}}, Steps: []Supersession{{label, "b"}, {"b", label}, {"b", "b"}, {"b", "nobody"}}}
	return []template.HTML{Bars(bars), Stack(stack), stack.Table(), Shares(shares), shares.Table(), Lines(lines), lines.Table(), Lines(timed), timed.Table(),
		Groups(group), group.Table(), Waterfall(fall), fall.Table(), Fusion(fuse), fuse.Table(), Graph(graph), GraphList(graph), Chain(chain)}
}

// allowed are the elements and attributes that a strict policy has nothing against.
var (
	elements   = strings.Fields("x figure figcaption svg g a title text rect line path polyline polygon circle ul li span b small p div table caption thead tbody tr th td")
	attributes = strings.Fields("class viewBox width height role aria-label aria-hidden x y x1 y1 x2 y2 rx r cx cy d points text-anchor href title scope")
)

// check returns an error for invalid markup.
func check(markup template.HTML) error {
	if i := strings.IndexFunc(string(markup), func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }); i >= 0 {
		return fmt.Errorf("a bidi control at %d", i)
	}
	d := xml.NewDecoder(strings.NewReader("<x>" + string(markup) + "</x>"))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !slices.Contains(elements, start.Name.Local) {
			return fmt.Errorf("element %s", start.Name.Local)
		}
		for _, a := range start.Attr {
			switch name := a.Name.Local; {
			case !slices.Contains(attributes, name):
				return fmt.Errorf("attribute %s of %s", name, start.Name.Local)
			case name == "href" && !local(a.Value):
				return fmt.Errorf("link to %q", a.Value)
			case name == "class" && strings.Trim(a.Value, "abcdefghijklmnopqrstuvwxyz0123456789 -") != "":
				return fmt.Errorf("class %q", a.Value)
			case slices.Contains(strings.Fields("viewBox width height x y x1 y1 x2 y2 rx r cx cy d points"), name) && strings.Trim(a.Value, "0123456789MLCVHvh., -") != "":
				return fmt.Errorf("%s is %q", name, a.Value)
			}
		}
	}
}

var hostile = []string{"", "plain", "<script>alert(1)</script>", `"onload="alert(1)`, `' onfocus='x`, "]]>", "<!--", "&amp;&lt;", "%v%s%d", "javascript:alert(1)", "//elsewhere.example/", `/\elsewhere.example`,
	"a\u202eb\u2066c\u200f", "a\x00b\x1b[31m\ufffe\xff", "\n\t", strings.Repeat("long ", 2048), strings.Repeat("W", 10240), strings.Repeat("e\u0301\u0301\u0301\u0301", 50), "日本語のラベル", "👩‍👩‍👧‍👦 family", "שלום עולם", "url(#x)", "style=x"}

func TestNoLabelBecomesMarkup(t *testing.T) {
	race.SkipLong(t)
	for _, label := range hostile {
		for i, markup := range all(label, 1, 2, 3, math.NaN()) {
			if err := check(markup); err != nil {
				t.Errorf("label %.40q, picture %d: %v", label, i, err)
			}
		}
	}
}

func TestNoNumberBreaksAPicture(t *testing.T) {
	race.SkipLong(t)
	odd := []float64{0, math.Copysign(0, -1), -1, 1e-320, math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 1e15, .1}
	for _, a := range odd {
		for _, b := range odd {
			for i, markup := range all("a", a, b, 1, b) {
				if err := check(markup); err != nil {
					t.Errorf("%g and %g, picture %d: %v", a, b, i, err)
				}
			}
		}
	}
}

func TestNothingIsFine(t *testing.T) {
	for i, markup := range []template.HTML{Bars(BarsData{}), Stack(StackData{}), Shares(SharesData{}), Lines(LinesData{}), Groups(GroupsData{}), Waterfall(WaterfallData{}),
		Fusion(FusionData{}), Graph(GraphData{}), GraphList(GraphData{}), Chain(ChainData{}), StackData{}.Table()} {
		if err := check(markup); err != nil {
			t.Errorf("picture %d: %v", i, err)
		}
	}
}

func TestSamplesAreWellFormedAndNeedNoStyle(t *testing.T) {
	forbidden := regexp.MustCompile(`(?i)style=|<style|\son\w+=|<script|url\(|\sid=|xlink|https?:`)
	for _, s := range samples() {
		for _, markup := range []template.HTML{s.picture, s.table} {
			if err := check(markup); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
			if found := forbidden.FindString(string(markup)); found != "" {
				t.Errorf("%s has %q", s.name, found)
			}
		}
	}
}

func TestALongLabelIsCutAndItsWholeIsATooltip(t *testing.T) {
	label := strings.Repeat("long ", 2047) + "long"
	for i, markup := range all(label, 1, 2, 3) {
		s := string(markup)
		if strings.Contains(s, "<table>") {
			continue // tables have the complete text
		}
		if !strings.Contains(s, "…<") || !strings.Contains(s, label) {
			t.Errorf("picture %d: cut %v, whole %v", i, strings.Contains(s, "…<"), strings.Contains(s, label))
		}
		for _, shown := range regexp.MustCompile(`(?:</title>|<text[^>]*>)([^<]*)</text>`).FindAllStringSubmatch(s, -1) {
			if len(shown[1]) > 200 {
				t.Errorf("picture %d shows %d bytes in a line", i, len(shown[1]))
			}
		}
	}
}

func FuzzCharts(f *testing.F) {
	for _, label := range hostile {
		f.Add(label, 1.0, math.NaN(), -3.0, math.Inf(1))
	}
	f.Fuzz(func(t *testing.T, label string, a, b, c, d float64) {
		for i, markup := range all(label, a, b, c, d) {
			if err := check(markup); err != nil {
				t.Errorf("picture %d: %v", i, err)
			}
		}
	})
}

func TestCutTextFits(t *testing.T) {
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	letters := []rune("ijlW m@日é\u0301👩\u200d…Qx")
	for range 2000 {
		var s []rune
		for range r.IntN(40) {
			s = append(s, letters[r.IntN(len(letters))])
		}
		text, width := clean(string(s)), 20+r.Float64()*200
		got := cut(text, width, large)
		if w := widthOf(got, large); w > width {
			t.Fatalf("%q is %.1f wide, of %.1f", got, w, width)
		}
		if got != text && !strings.HasPrefix(text, strings.TrimRight(strings.TrimSuffix(got, "…"), " ")) {
			t.Fatalf("%q is cut to %q", text, got)
		}
		first, second := wrap(text, width, large)
		if widthOf(first, large) > width || widthOf(second, large) > width {
			t.Fatalf("%q does not fit: %q, %q", text, first, second)
		}
	}
}

func TestTinyPartsStayVisibleAndTheSumHolds(t *testing.T) {
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	for range 500 {
		values := make([]float64, 1+r.IntN(20))
		some := false
		for i := range values {
			if r.IntN(4) > 0 {
				values[i], some = math.Exp(r.Float64()*20), true
			}
		}
		sum, least := 0.0, min(6, 720/float64(len(values)))
		got := shareOut(values, 720, 6)
		for i, w := range got {
			sum += w
			if values[i] > 0 && w < least-1e-6 || values[i] == 0 && w != 0 {
				t.Fatalf("%v: part %d is %g wide", values, i, w)
			}
		}
		if some && math.Abs(sum-720) > 1e-6 {
			t.Fatalf("%v: the parts are %g wide", values, sum)
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", 1234567: "1,234,567", -1234: "-1,234", 12.34: "12.3", 1.234: "1.23", .1234: "0.123", .001234: "0.00123", 1.5: "1.5", 123.6: "124", 1e20: "1e+20", math.Inf(-1): "-Inf"} {
		if got := number(v); got != want {
			t.Errorf("number(%g) = %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", .001: "<1", .5: "50", .999: ">99", 1: "100"} {
		if got := percent(v); got != want+"\u00a0%" {
			t.Errorf("percent(%g) = %q, want %q", v, got, want)
		}
	}
}

func TestOnlyPathsOfTheSiteAreLinks(t *testing.T) {
	for href, want := range map[string]bool{"/console/x": true, "?q=x": true, "#x": true, "": false, "//x": false, `/\x`: false, "https://x.example/": false, "javascript:alert(1)": false, "x": false, "/a\tb": false, "/a\u202eb": false} {
		if got := local(href); got != want {
			t.Errorf("local(%q) = %v", href, got)
		}
	}
}

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
			for class := range strings.FieldsSeq(m[1]) {
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

func TestLettersOfALegend(t *testing.T) {
	for i, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 27: "AB", 701: "ZZ", 702: "AAA"} {
		if got := letter(i); got != want {
			t.Errorf("%d: %s; want %s", i, got, want)
		}
	}
}
