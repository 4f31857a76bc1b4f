package finding

import (
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

var (
	decisionFolder = lazyregexp.New(`(?i)(?:^|/)(?:adrs?|decisions|decision-records|architecture-decisions|rfcs?)/`)
	decisionFile   = lazyregexp.New(`(?i)^(?:adr[-_ ]?)?\d{1,5}[-_. ].*\.(?:md|mdx|rst|adoc|txt)$|^adr[-_]?\d{1,5}\.(?:md|json)$`)
	decisionNumber = lazyregexp.New(`^(?i)(?:adr[-_ ]?)?(\d{1,5})`)
	statusLine     = lazyregexp.New(`(?im)^\s*(?:[-*>]\s*)?(?:\**_*status_*\**\s*:\s*\**|\|\s*\**status\**\s*\|)\s*\**["']?(\w[\w -]{2,40})`)
	statusHeading  = lazyregexp.New(`(?im)^#{1,4}\s*status\s*:?\s*\n+\s*[*_]*(\w[\w -]{2,40})`)
	titlePrefix    = lazyregexp.New(`(?i)^(?:(?:adr|rfc)[-_ ]*)?\d{1,5}\s*[.:—–-]+\s*|^(?:adr|rfc)[-_ ]*\d{1,5}\s+`)
	knownStatus    = lazyregexp.New(`(?i)^(proposed|accepted|rejected|deprecated|superseded|draft|approved|implemented|withdrawn|in review|amended)`)
)

// isDecision reports whether a file is an architecture decision record by its name.
func isDecision(name string) bool {
	return decisionFile.MatchString(path.Base(name)) && decisionFolder.MatchString(name) ||
		strings.HasPrefix(strings.ToLower(path.Base(name)), "adr-") && path.Ext(name) == ".md"
}

// decided says what a record decides, and where that stands; "" when what was
// seen of it has no title.
func decided(name, text string) string {
	m := proseTitle.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	title := oneLine(m[1] + m[2])
	title = clip(titlePrefix.ReplaceAllString(title, ""), 140)
	if title == "" || planted.MatchString(title) {
		return ""
	}
	label := "Decision"
	if n := decisionNumber.FindStringSubmatch(path.Base(name)); n != nil {
		label += " " + n[1]
	}
	status := ""
	for _, re := range []*lazyregexp.Regexp{statusLine, statusHeading} {
		if s := re.FindStringSubmatch(text); s != nil && status == "" {
			status = strings.ToLower(knownStatus.FindString(strings.TrimSpace(s[1])))
		}
	}
	if status == "" {
		return label + " \"" + title + "\""
	}
	return label + " \"" + title + "\" is " + status
}
