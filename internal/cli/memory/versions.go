package memory

import (
	"context"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/foreign"
)

// versions finds the claims that entries without an id were imported as before, so that an edited
// entry becomes a new version of its claim. Files are told apart by the claims' sources.
type versions struct {
	byWords  map[string]*earlier // by heading and text
	byKey    map[string]*earlier
	bySource map[string][]*earlier
}

// earlier is a claim whose key was made from its words when it was imported.
type earlier struct {
	key, source, heading, text string

	open bool // an edited entry may replace its words
	read bool // a file of this import has it
}

func words(heading, text string) string { return heading + "\x00" + text }

// loadVersions reads the claims that were imported before.
func (im *importer) loadVersions(ctx context.Context) (*versions, error) {
	v := &versions{map[string]*earlier{}, map[string]*earlier{}, map[string][]*earlier{}}
	f := ken.Filter{Kinds: []ken.Kind{ken.KindFact}, Statuses: ken.Statuses()}
	for c, err := range im.s.Scan(ctx, &f, nil) {
		if err != nil {
			return nil, err
		}
		if foreign.KeyOfWords(c.Key) {
			v.add(&c, c.Status != ken.StatusSuperseded && c.Status != ken.StatusDisputed && !personsWords(&c))
		}
	}
	return v, nil
}

func (v *versions) add(c *ken.Claim, open bool) *earlier {
	e := &earlier{key: c.Key, source: c.Source, heading: c.Heading, text: c.Text, open: open}
	v.byWords[words(e.heading, e.text)], v.byKey[e.key] = e, e
	v.bySource[e.source] = append(v.bySource[e.source], e)
	return e
}

// personsWords reports whether a person wrote a claim or made it a rule.
func personsWords(c *ken.Claim) bool {
	return c.Constraint || c.Approved() || c.Support(nil).Trust == ken.TrustOperator
}

// match gives each entry of a file the key of the claim that it was imported as. An entry that is
// edited is the one most like a claim that is no longer in the file. An entry whose key belongs to
// other words gets another key.
func (v *versions) match(entries []foreign.Item) {
	var changed []*ken.Claim
	for i := range entries {
		c := &entries[i].Claim
		if e := v.byWords[words(c.Heading, c.Text)]; e != nil {
			e.read = true
			c.Key, c.Source = e.key, e.source // words in two files are one claim, of the first file
		} else {
			changed = append(changed, c)
		}
	}
	for _, c := range changed {
		holder := v.byKey[c.Key]
		own := holder != nil && !holder.read && holder.source == c.Source
		e := holder
		if !own {
			e = v.edited(c, len(changed))
		}
		switch {
		case own && !holder.replaceable(c): // a person changed the words; see checkPersonsKey
			holder.read = true
		case e != nil:
			delete(v.byWords, words(e.heading, e.text))
			e.read, e.heading, e.text = true, c.Heading, c.Text
			v.byWords[words(e.heading, e.text)] = e
			c.Key = e.key
		default:
			if holder != nil {
				c.Key += "@" + c.Source
			}
			v.add(c, true).read = true
		}
	}
}

// replaceable reports whether the words of an entry may replace the claim's.
func (e *earlier) replaceable(c *ken.Claim) bool { return e.open || personsWords(c) }

// edited returns the claim that an entry is a new version of, nil if there is none. n is the number
// of entries that look for one.
func (v *versions) edited(c *ken.Claim, n int) (found *earlier) {
	const (
		most      = 1_000_000 // comparisons for one file
		least     = 0.5       // 97 of 100 edited lines are above it, and 8 of 100 other pairs: record 0058
		elsewhere = 0.8       // below another heading
	)
	list := v.bySource[c.Source]
	if c.Source == "-" || n*len(list) > most {
		return nil
	}
	best := 0.0
	for _, e := range list {
		if e.read || !e.replaceable(c) {
			continue
		}
		need := least
		if e.heading != c.Heading {
			need = elsewhere
		}
		if s := likeness(e.text, c.Text); s > need && s > best {
			best, found = s, e
		}
	}
	return found
}

// likeness returns the part of their pairs of letters that two texts share, from 0 to 1.
func likeness(a, b string) float64 {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	if len(x) < 2 || len(y) < 2 {
		return 0
	}
	pairs := map[[2]rune]int{}
	for i := range len(x) - 1 {
		pairs[[2]rune{x[i], x[i+1]}]++
	}
	both := 0
	for i := range len(y) - 1 {
		if p := [2]rune{y[i], y[i+1]}; pairs[p] > 0 {
			pairs[p]--
			both++
		}
	}
	return 2 * float64(both) / float64(len(x)+len(y)-2)
}
