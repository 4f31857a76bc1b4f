package reading

import (
	"strings"
	"sync"
)

// relation is a phrase that says how what stands before it stands to what follows.
type relation struct {
	words    []string
	typ      string
	strength float64
	reversed bool // what follows is the source
	passive  bool // a participle: needs is, are or which before it
	infinite bool // a base form: needs we, a modal, or a plural before it
	within   string
}

// relations are the phrases by their first word, the longer ones first. The strength
// says how much of the source fails with the target: what is required fails whole,
// what is used often has a way around. The scale is ours.
var relations = sync.OnceValue(func() map[string][]relation {
	m := map[string][]relation{}
	add := func(typ string, strength float64, reversed, passive, infinite bool, phrases string) {
		for p := range strings.SplitSeq(phrases, ",") {
			r := relation{words: strings.Fields(p), typ: typ, strength: strength, reversed: reversed, passive: passive, infinite: infinite}
			m[r.words[0]] = append(m[r.words[0]], r)
		}
	}
	add(Requires, 0.9, false, false, false, "depends on,depends upon,requires")
	add(Requires, 0.9, false, false, true, "depend on,require")
	add(Requires, 0.8, false, false, false, "needs,relies on,builds on")
	add(Requires, 0.8, false, false, true, "need,rely on,build on")
	add(Requires, 0.8, false, true, false, "built on top of,built on,dependent on")
	add(Requires, 0.7, false, true, false, "based on")
	add(Requires, 0.9, true, true, false, "required by")
	add(Requires, 0.8, true, true, false, "needed by")
	add(Uses, 0.6, false, false, false, "uses,runs on,talks to,calls,imports,reads from,writes to,connects to,queries,integrates with,wraps,persists to,stays on")
	add(Uses, 0.6, false, false, true, "use,run on,talk to,call,import,read from,write to,connect to,query,integrate with,persist to,stay on")
	add(Uses, 0.6, false, true, false, "using,running on,talking to,hosted on,deployed on,deployed to,built with,powered by,written in,backed by,stored in,kept in,implemented in,connected to,sent through,sent via,routed through,fed from,read from,cached in,hosted in")
	add(Uses, 0.6, true, true, false, "used by,called by,imported by")
	add(OwnedBy, 0.9, false, true, false, "owned by,maintained by")
	add(OwnedBy, 0.8, false, false, false, "belongs to")
	add(OwnedBy, 0.8, false, false, true, "belong to")
	add(OwnedBy, 0.7, false, true, false, "managed by")
	add(OwnedBy, 0.9, true, false, false, "owns")
	add(OwnedBy, 0.8, true, false, false, "maintains")
	add(OwnedBy, 0.8, true, true, false, "responsible for")
	add(Blocks, 0.8, false, false, false, "blocks")
	add(Blocks, 0.8, false, true, false, "blocking")
	add(Blocks, 0.8, true, true, false, "blocked by,blocked on")
	add(Blocks, 0.7, true, false, false, "waits for,waits on")
	add(Blocks, 0.7, true, true, false, "waiting for,waiting on")
	add(Informs, 0.6, false, false, false, "feeds into,feeds,publishes to,notifies,informs,sends events to,emits events to,streams to,reports to")
	add(Informs, 0.6, true, true, false, "fed by,notified by,informed by,triggered by")
	add(Informs, 0.6, true, false, false, "subscribes to,listens to,consumes from")
	add(Informs, 0.6, true, false, true, "subscribe to,listen to,consume from")
	add(Informs, 0.6, false, false, true, "publish to,feed into,report to")
	add(Uses, 0.6, false, false, false, "goes through,authenticates with,authenticates against,delegates to,writes into,forwards to,proxies to")
	for _, verb := range []string{"stores", "keeps", "persists", "saves", "caches", "archives"} {
		m[verb] = append(m[verb], relation{words: []string{verb}, typ: Uses, strength: 0.6, within: "in"})
	}
	for _, verb := range []string{"consumes", "reads", "receives", "gets", "fetches", "loads", "pulls", "takes"} {
		m[verb] = append(m[verb], relation{words: []string{verb}, typ: Uses, strength: 0.6, within: "from"})
	}
	for _, verb := range []string{"sends", "writes", "publishes", "pushes", "emits"} {
		m[verb] = append(m[verb], relation{words: []string{verb}, typ: Informs, strength: 0.6, within: "to"})
	}
	return m
})

// made is the thing that stands right before "using" at i, as in "a budget tracker
// using Flask": a noun phrase with an article and two words.
func (r *reader) made(i int) found {
	if i < 2 || r.words[i].broken || r.words[i-1].possessive || r.words[i-1].name == "" || r.words[i-1].entry.is(function|calendar) {
		return found{}
	}
	switch r.words[i-1].low {
	case "problem", "problems", "issue", "issues", "error", "errors", "question", "bug": // looked at with it, not made of it
		return found{}
	}
	from, _ := r.phrase(i - 1)
	at := from
	for at > 0 && r.words[at-1].entry.is(adjective) {
		at--
	}
	name := r.join(from, i)
	if i-from < 2 || name == "" || at == 0 || !r.words[at-1].entry.is(determiner) {
		return found{}
	}
	return found{Mention: Mention{Name: name, Display: r.display(from, i), Type: System, Confidence: ByObject}, from: from, to: i, weak: true}
}

// relation is the phrase at word i.
func (r *reader) relation(i, to int) *relation {
	list := relations()[r.words[i].low]
	for k := range list {
		p := &list[k]
		if i+len(p.words) > to {
			continue
		}
		same := true
		for n := 1; n < len(p.words) && same; n++ {
			same = r.words[i+n].low == p.words[n] && !r.words[i+n].broken
		}
		if same {
			return p
		}
	}
	return nil
}

// several reports a list that ends with word j: "tracking and Dock".
func (r *reader) several(from, j int) bool {
	for k := j - 1; k > from && k >= j-4 && !r.words[k+1].broken; k-- {
		if r.words[k].low == "and" {
			return true
		}
	}
	return false
}

// stands reports whether the words before i let the phrase be a verb.
func (r *reader) stands(p *relation, from, i int) bool {
	j := i - 1
	for j >= from && (r.words[j].low == "also" || r.words[j].low == "only" || r.words[j].low == "currently" || r.words[j].low == "now" || r.words[j].low == "already" || r.words[j].low == "still" ||
		r.words[j].low == "heavily" || r.words[j].low == "mainly" || r.words[j].low == "therefore" || r.words[j].low == "always" || r.words[j].entry.is(hedge) && !r.words[j].entry.is(auxiliary)) {
		j--
	}
	if j < from {
		return false
	}
	w := &r.words[j]
	switch {
	case p.passive:
		switch w.low {
		case "is", "are", "be", "i'm", "we're", "it's", "am", "gets", "being", "been", "and", "which":
			return true
		}
		// "the ledger, owned by Ada,": a participle right behind its noun
		f := r.at(j)
		if f != nil && p.words[0] == "using" { // "my contact form using Formspree"
			return f.to == j+1 && (f.Type == System || f.Type == Project)
		}
		if p.words[0] == "using" {
			return r.made(i).Name != ""
		}
		return f != nil && !f.weak && f.to == j+1 && p.words[len(p.words)-1] != "using" && len(p.words) > 1
	case p.infinite:
		switch w.low {
		case "to":
			return r.words[i].low == "use" || r.words[i].low == "stay"
		case "must", "should", "will", "shall", "may", "might", "can", "could", "would", "and", "do":
			return true
		}
		return w.entry.is(plural|first) && !w.entry.is(determiner) || w.name != "" && !w.entry.is(function) && r.several(from, j) || strings.HasSuffix(w.low, "s") && !w.entry.is(function) || w.low == "they" || w.low == "which"
	}
	return !w.entry.is(determiner|preposition|adjective) || w.low == "that" || w.low == "this" || w.low == "it"
}
