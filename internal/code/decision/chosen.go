package decision

import (
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// chosenMark is how a heading or a bullet says that an option is the chosen one.
var chosenMark = lazyregexp.New(`(?i)(?:★|✅|\(|—|–|-|:)\s*(?:chosen|selected|accepted|this decision|we chose this)\b`)

// chosen is how a decision names it.
var chosen = lazyregexp.New(`(?i)chosen option:?\**\s*:?\s*["“'*_\[]*([^"”\n]+)`)

// options reads the sections on options, and marks the chosen one.
func (d *document) options() []Option {
	read := func(k Kind) (out []Option) {
		for _, i := range d.ofKind(k) {
			inner := map[int]heading{}
			level := 0
			to := d.heads[i].end
			for j := i + 1; j < len(d.heads) && d.heads[j].at < d.heads[i].end; j++ {
				h := d.heads[j]
				if h.kind != "" {
					to = min(to, h.at)
					break
				}
				if level == 0 {
					level = h.level
				}
				if h.level <= level {
					inner[h.at] = h
				}
			}
			var r optionReader
			r.read(d.lines, d.heads[i].next, to, inner)
			out = append(out, r.out...)
		}
		return out
	}
	out := join(join(nil, read(KindOptions)), read(KindProsAndCons))
	d.argued(out)
	for i := range out {
		out[i].Chosen = out[i].Chosen || chosenMark.MatchString(out[i].Title.Text) || strings.HasPrefix(strings.ToLower(plain(out[i].Text)), "chosen")
	}
	if m := chosen.FindStringSubmatch(from(d.Decision.Text, "chosen option")); m != nil {
		name := strings.TrimRight(plain(m[1]), "\"”'*_] ,.")
		for i := range out {
			if alike(out[i].Title.Text, name) || len(foldKey(out[i].Title.Text)) >= 4 && strings.HasPrefix(foldKey(name), foldKey(out[i].Title.Text)) {
				out[i].Chosen = true
				break
			}
		}
	}
	return out
}

// from is a text from the first place on where words in lower case stand in any case; empty
// for none.
func from(text, words string) string {
	for i := 0; i+len(words) <= len(text); i++ {
		if text[i]|0x20 == words[0] && strings.EqualFold(text[i:i+len(words)], words) {
			return text[i:]
		}
	}
	return ""
}

// argued reads sections that bear the name of an option and stand by themselves, as those
// beside "Pros and Cons of the Options" do in some records.
func (d *document) argued(named []Option) {
	keys := make([]string, len(named))
	for i := range named {
		keys[i] = foldKey(named[i].Title.Text)
	}
	read := 0 // index of the line up to which sections on options go, which were read
	for _, h := range d.heads {
		if h.kind == KindOptions || h.kind == KindProsAndCons {
			read = max(read, h.end)
		}
		if len(named) == 0 || h.kind != "" || h.level < 2 || h.at < read {
			continue
		}
		key := foldKey(bare(h.title))
		for i := range named {
			if !alikeKeys(keys[i], key) || named[i].Title.Line == h.at+1 || len(named[i].Pros)+len(named[i].Cons) > 0 {
				continue
			}
			r := optionReader{out: named[i : i+1 : i+1], open: true, byHead: true, headed: true}
			r.read(d.lines, h.next, h.end, nil)
		}
	}
}
