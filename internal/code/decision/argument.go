package decision

import (
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// How people start an argument: "Good, because", "Con:", "+".
var (
	proSign = lazyregexp.New(`(?i)^(?:\*\*|__)?(?:good|pro|pros|advantage|benefit|\+|✅|➕|👍)(?:\*\*|__)?(?:\s*[:,]|\s+(?:because|since|as|that)\b|\s*[–—-]\s|\s+)`)
	conSign = lazyregexp.New(`(?i)^(?:\*\*|__)?(?:bad|con|cons|disadvantage|drawback|❌|➖|👎)(?:\*\*|__)?(?:\s*[:,]|\s+(?:because|since|as|that)\b|\s*[–—-]\s|\s+)`)
	neutral = lazyregexp.New(`(?i)^(?:\*\*|__)?neutral(?:\*\*|__)?(?:\s*[:,]|\s+(?:because|since|as|that)\b|\s*[–—-]\s|\s+)`)
)

// side is what an argument speaks for.
type side uint8

const (
	noSide side = iota
	pro
	con
	neither
)

// argument reads a bullet such as "Good, because it is fast".
func argument(text string) (side, string) {
	for _, s := range []struct {
		side side
		re   *lazyregexp.Regexp
	}{{pro, proSign}, {con, conSign}, {neither, neutral}} {
		if m := s.re.FindStringIndex(text); m != nil {
			rest := strings.TrimSpace(text[m[1]:])
			rest = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(rest, "because "), "since "))
			if rest != "" {
				return s.side, rest
			}
		}
	}
	return noSide, text
}

// label reads a line that says on which side the arguments below it are: "**Cons:**".
func label(text string) (side, bool) {
	switch strings.ToLower(strings.Trim(plain(text), " :.")) {
	case "pros", "pro", "advantages", "benefits", "good", "positive", "upsides":
		return pro, true
	case "cons", "con", "disadvantages", "drawbacks", "bad", "negative", "downsides":
		return con, true
	case "neutral":
		return neither, true
	}
	return noSide, false
}
