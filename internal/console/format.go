package console

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// funcs are the functions of the templates. Functions that need the time get it as an
// argument, so that a page has one time throughout.
var funcs = template.FuncMap{
	"text":    func(s string) template.HTML { return escapeVisible(s, maxText) },
	"line":    func(s string) template.HTML { return oneLine(s, maxLine) },
	"name":    func(s string) template.HTML { return oneLine(s, 80) },
	"title":   windowTitle,
	"asset":   assetPath,
	"path":    pathOf,
	"count":   count,
	"bytes":   byteSize,
	"len64":   func(s string) int64 { return int64(len(s)) },
	"line20":  func(s string) string { r := []rune(s); return string(r[:min(len(r), 200)]) },
	"ms":      millis,
	"share":   percent,
	"plural":  plural,
	"when":    when,
	"ago":     ago,
	"short":   shortID,
	"words":   words,
	"symbol":  symbolName,
	"message": func(s string) template.HTML { return escapeVisible(s, maxMessageRunes) },
	"step":    func(s string) template.HTML { return escapeVisible(s, maxStepRunes) },
	"result":  func(s string) template.HTML { return escapeVisible(s, maxResultRunes) },
	"int64":   func(n int) int64 { return int64(n) },
	"dict":    dict,
	"add":     func(a, b int) int { return a + b },
	"join":    strings.Join,
}

// pathOf joins parts to a path below Prefix. It escapes each part, so that no id can lead to
// another path.
func pathOf(parts ...string) string {
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return Prefix + strings.Join(parts, "/")
}

// count formats a number with thin spaces between groups of digits.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

func byteSize(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10) + " B"
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

func millis(ms float64) string {
	switch {
	case ms >= 1000:
		return fmt.Sprintf("%.2f s", ms/1000)
	case ms >= 10:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f ms", ms)
}

// percent formats a share, 0..1.
func percent(f float64) string { return strconv.Itoa(int(f*100+0.5)) + " %" }

// plural formats a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// when formats a time, with the exact time in the title.
func when(t time.Time) template.HTML {
	if t.IsZero() {
		return "never"
	}
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, // only digits
		t.Format(time.RFC3339), t.Format("2006-01-02 15:04:05 UTC"), t.Format("2006-01-02 15:04")))
}

// ago formats a time relative to now.
func ago(now, t time.Time) template.HTML {
	if t.IsZero() {
		return "never"
	}
	d := now.Sub(t)
	var words string
	switch {
	case d < -time.Minute:
		return when(t)
	case d < time.Minute:
		words = "just now"
	case d < time.Hour:
		words = plural(int(d/time.Minute), "minute", "minutes") + " ago"
	case d < 24*time.Hour:
		words = plural(int(d/time.Hour), "hour", "hours") + " ago"
	case d < 30*24*time.Hour:
		words = plural(int(d/(24*time.Hour)), "day", "days") + " ago"
	default:
		words = t.UTC().Format(time.DateOnly)
	}
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, // only digits and the words above
		t.Format(time.RFC3339), t.Format("2006-01-02 15:04:05 UTC"), words))
}

// shortID returns the end of an id, because UUIDs of the same millisecond begin alike.
func shortID(id string) string {
	const n = 6
	if len(id) <= n {
		return id
	}
	return id[len(id)-n:]
}

// dict builds the argument of a part from names and values.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict: a value is missing")
	}
	out := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: %v is no name", pairs[i])
		}
		out[name] = pairs[i+1]
	}
	return out, nil
}

func escapeQuery(s string) string { return url.QueryEscape(s) }

// words returns an internal name with spaces instead of underscores.
func words(name any) string { return strings.ReplaceAll(fmt.Sprint(name), "_", " ") }

// Limits of a text on a page, in code points: of a whole text, and of a line in a list. A
// longer text is cut, with a mark.
const (
	maxText = 20_000
	maxLine = 280
)

// escapeVisible formats an untrusted text, cut to most code points. It escapes the text,
// isolates its direction from the surrounding text, and makes invisible characters visible.
func escapeVisible(s string, most int) template.HTML {
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString("<bdi>")
	n, from := 0, 0
	flush := func(to int) { template.HTMLEscape(&b, []byte(s[from:to])) }
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if n == most {
			flush(i)
			fmt.Fprintf(&b, `</bdi><span class="cut-off" title="%d more characters">…</span>`, utf8.RuneCountInString(s[i:]))
			return template.HTML(b.String()) // every part is escaped
		}
		if isInvisible(r, size) {
			flush(i)
			if r == utf8.RuneError && size == 1 {
				fmt.Fprintf(&b, `<span class="concealed" title="a byte that is no text">%02X</span>`, s[i])
			} else {
				fmt.Fprintf(&b, `<span class="concealed" title="a character that can’t be seen">U+%04X</span>`, r)
			}
			from = i + size
		}
		i += size
		n++
	}
	flush(len(s))
	b.WriteString("</bdi>")
	return template.HTML(b.String()) // every part is escaped
}

// isInvisible reports whether a character is hidden or reorders others: controls, direction
// overrides, tags and zero-width characters. It allows the joiners that scripts and emoji
// need, and direction marks, which affect no other characters.
func isInvisible(r rune, size int) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d', '\u200e', '\u200f', '\u061c', '\u00ad':
		return false
	case utf8.RuneError:
		return size == 1
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' || r == '\u115f' || r == '\u3164'
}

// oneLine formats a text on one line, cut to most code points.
func oneLine(s string, most int) template.HTML {
	if len(s) > 4*most+4096 { // the beginning of a long text is enough
		s = strings.ToValidUTF8(s[:4*most+4096], "")
	}
	return escapeVisible(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\t' || r == '\r' || r == ' ' }), " "), most)
}

// windowTitle formats a text for a window's title, which has no markup: one line, without
// invisible characters, cut.
func windowTitle(s string) string {
	const most = 100
	var b strings.Builder
	n := 0
	for word := range strings.FieldsSeq(s[:min(len(s), 8*most)]) {
		for i, r := range " " + word {
			if i == 0 && n == 0 || isInvisible(r, utf8.RuneLen(r)) || r == utf8.RuneError {
				continue
			}
			if n++; n > most {
				return b.String() + "…"
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// mapped returns what f makes of each item of a list.
func mapped[T, R any](list []T, f func(*T) R) []R {
	out := make([]R, len(list))
	for i := range list {
		out[i] = f(&list[i])
	}
	return out
}
