package provenance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// tier is what a claim's evidence amounts to now, and why. It is ken.Claim.Support with
// words.
func tier(c *ken.Claim, f *files, now time.Time, decayDays int) (ken.Tier, string) {
	s := c.Support(f.stands)
	at := s.At(now, decayDays)
	why := because(c, s.Tier, f)
	if at != s.Tier {
		why += fmt.Sprintf("; but none of it is newer than %s, and after %s days that counts as %s", s.NewestAt.Format(time.DateOnly), strconv.Itoa(decayDays), at)
	}
	return at, why
}

// because says why evidence is of a tier, before decay.
func because(c *ken.Claim, is ken.Tier, f *files) string {
	var hard, backed, words, fallen, people []string
	for i := range c.Evidence {
		e := &c.Evidence[i]
		label := string(e.Kind) + " " + reference(e)
		switch {
		case !f.stands(*e):
			fallen = append(fallen, reference(e)+" "+map[State]string{Changed: "has changed", Gone: "is gone"}[f.state(*e)])
		case e.Hard():
			hard = append(hard, label)
		case e.Backed():
			backed = append(backed, label)
		default:
			words = append(words, string(e.Kind))
		}
		if e.Kind == ken.EvidenceHumanAssertion {
			people = append(people, reference(e))
		}
	}
	hard, backed, words = once(hard), once(backed), once(words)
	switch {
	case is == ken.Verified && len(hard) >= 2:
		return strconv.Itoa(len(hard)) + " distinct hard pieces: " + listed(hard)
	case is == ken.Verified:
		return "a person's verification: " + listed(once(people))
	case len(hard) > 0:
		return "one hard piece: " + listed(hard)
	case len(backed) > 0:
		return "backed by " + listed(backed)
	case len(words) > 0:
		return "words alone: " + listed(words)
	case len(fallen) > 0:
		return "nothing that still stands: " + listed(once(fallen))
	}
	return "no evidence"
}

func once(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// listed names the first few.
func listed(list []string) string {
	const most = 3
	if len(list) > most {
		return strings.Join(list[:most], ", ") + " and " + strconv.Itoa(len(list)-most) + " more"
	}
	return strings.Join(list, ", ")
}

// reference is what a piece points at, in words.
func reference(e *ken.Evidence) string {
	for _, ref := range []string{e.Path, e.ID, e.URL, e.CommitSHA, e.ArtifactID, e.ToolCallID, e.MessageID, e.SessionID} {
		if ref == "" {
			continue
		}
		if ref == e.Path && e.Line > 0 {
			ref += ":" + strconv.Itoa(e.Line)
		}
		return ref
	}
	return "that names nothing"
}
