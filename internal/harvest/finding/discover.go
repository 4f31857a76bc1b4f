package finding

import (
	"strconv"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

var identifier = lazyregexp.New(`[\pL_][\pL\d_]{2,}`)

func (x *extractor) search(c *Call) {
	files, n := matches(c.Output, maxMatches)
	pattern := clip(c.Pattern, 100)
	if n == 0 || n > maxMatching || !identifier.MatchString(pattern) || strings.ContainsAny(pattern, "\x00") {
		return
	}
	var in []string
	hashes := map[string]string{}
	for _, name := range files {
		name = c.project.relative(name)
		if ignored(c, name) {
			n--
			continue
		}
		if h := c.Files[name]; h != "" {
			hashes[name] = h
		}
		in = append(in, name)
	}
	if len(in) == 0 {
		return
	}
	text := "`" + pattern + "` is in " + strings.Join(in, ", ")
	if more := n - len(in); more > 0 {
		text += " and " + strconv.Itoa(more) + " more files"
	}
	f := of(c, Observation, c.Pattern, text, weightSearch)
	if len(c.Pattern) > 200 {
		f.Entity = pattern
	}
	if len(hashes) > 0 {
		f.Files = hashes
	}
	x.add(f)
}

var entry = lazyregexp.New(`^(?:\[(?:FILE|DIR)\] |- |[|├└─│\s]+)?([\w.@+][\w.@+-]{0,60}/?)\s*$`)

func (x *extractor) list(c *Call) {
	if len(c.Paths) != 1 || c.project.outside(c.Paths[0]) || absolute(c.Paths[0]) || strings.HasPrefix(c.Name, "git") {
		return
	}
	var names []string
	for line := range strings.Lines(shown(c.Output)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		m := entry.FindStringSubmatch(line)
		if m == nil || len(names) == maxListed {
			return
		}
		names = append(names, strings.TrimSpace(m[1]))
	}
	if len(names) > 1 {
		dir := strings.TrimSuffix(c.Paths[0], "/") + "/"
		x.add(of(c, Observation, dir, dir+" holds "+strings.Join(names, ", "), weightList))
	}
}

var pageTitle = lazyregexp.New(`(?i)<title[^>]*>((?s:.{3,200}?))</title>|(?m:^#[ \t]+(.{3,200})$)`)

// fetch keeps the title of a page, nothing else: what a page says is not the
// project's knowledge, and may be written to be taken for it.
func (x *extractor) fetch(c *Call) {
	m := pageTitle.FindStringSubmatch(shown(c.Output))
	if c.Address == "" || m == nil {
		return
	}
	title := oneLine(m[1] + m[2])
	if planted.MatchString(title) || analysis.FormOf(title).Traits&analysis.Instructs != 0 {
		return
	}
	f := of(c, Observation, c.Address, c.Address+" is the page \""+clip(title, 120)+"\"", weightFetch)
	f.External = true
	x.add(f)
}
