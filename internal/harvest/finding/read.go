package finding

import (
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

func (x *extractor) read(c *Call) {
	text := shown(c.Output)
	if len(c.Paths) != 1 || strings.TrimSpace(text) == "" {
		return // what several files hold at once can't be told apart
	}
	name := c.Paths[0]
	hash, noted := c.Files[name]
	if ignored(c, name) || noted && hash == "" {
		return
	}
	x.says(c, name, text)
	f := x.seen[name]
	if f == nil {
		f = &seenFile{}
		x.seen[name] = f
		x.order = append(x.order, name)
	}
	f.reads++
	if f.outdated || f.hash != hash || f.text == "" || headOf(name, text) && !headOf(name, f.text) {
		f.text, f.names = text, nil
	} else {
		for _, n := range analysis.Definitions(text) {
			if len(f.names) < 2*maxSymbols && !slices.Contains(f.names, n) {
				f.names = append(f.names, n)
			}
		}
	}
	f.call, f.hash, f.outdated = c, hash, false
}

// headOf reports whether a piece of a file is its beginning, as far as that shows.
func headOf(name, text string) bool {
	return goPackage.MatchString(text) || proseTitle.MatchString(text) || path.Ext(name) != ".go" && comment(text) != ""
}

// says takes in what a file says of decisions and owners.
func (x *extractor) says(c *Call, name, text string) (special bool) {
	if isDecision(name) {
		if d := decided(name, text); d != "" {
			x.add(onFile(c, Architecture, name, d+" ("+name+")", name, weightDecision))
			special = true
		}
	}
	for _, o := range owners(name, text) {
		x.add(onFile(c, Ownership, o.entity, o.entity+" is owned by "+o.owners+" ("+name+")", name, weightOwner))
		special = true
	}
	return special
}

// observations turns what was read into findings, one a file.
func (x *extractor) observations() {
	for _, name := range x.order {
		f := x.seen[name]
		if f.outdated || path.Base(name) == "CODEOWNERS" || isDecision(name) {
			continue
		}
		text := f.text
		for _, n := range f.names { // of other pieces
			text += "\nfunc " + n + "()"
		}
		what := describe(name, text)
		if what == "" || !telltale(what) {
			continue
		}
		weight := weightRead
		if f.reads > 1 || x.edits[name] != nil {
			weight = weightFocus + min(f.reads, heaviestRepeats)
		}
		x.add(onFile(f.call, Observation, name, name+": "+what, name, weight))
	}
}

// telltale reports whether a description says more than the language.
func telltale(what string) bool {
	return strings.ContainsAny(what, ",.:\"") || strings.Count(what, " ") >= 3
}
