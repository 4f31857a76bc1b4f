package keyword

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	index "github.com/blevesearch/bleve_index_api"
)

// enoughTerms is how many matching terms bring up documents however common they
// are.
const enoughTerms = 3

// plan is one query against one snapshot: which terms are read, and what a
// term's occurrence is worth.
type plan struct {
	lists  []*postings // ascending by bound, so the most common term first
	ends   []float64   // ends[i] is the sum of the bounds of lists[0..i]
	common int         // how many lists, from the first, bring up no document

	base, perWord float64 // a document of n words adds base + perWord*n to the frequency
	k1            float64
	short         float64

	recent recent
	held   *held     // of the snapshot; nil holds nothing
	parts  []float32 // of the document being scored, by list
	kept   []float32 // the parts of hits, one after another: see scored.slot

	res Result // Weight, Values, Terms and Dropped
}

// postings is the list of one term's documents, and a place in it.
type postings struct {
	term   string
	reader index.TermFieldReader // nil for a list that is held
	held   *list                 // what is held of it; nil for nothing
	place  int                   // in held.docs, of the next document
	read   *list                 // what was read of it so far, all from the start; nil when it is not to be held
	number int                   // of the term in the query
	count  uint64                // documents that have the term
	weight float64               // idf times (k1 + 1)
	bound  float64               // no document gets as much from this term
	value  float64               // of having the term at all, for Share

	dropped, common bool

	at   uint64 // the current document's number in the snapshot, or done
	here index.TermFieldDoc
}

const done = math.MaxUint64

// plan opens the terms' lists and chooses among them.
func (x *Index) plan(ctx context.Context, r index.IndexReader, recent recent, terms []string) (p *plan, err error) {
	p = &plan{k1: x.opts.K1, short: float64(x.opts.ShortLength), recent: recent, held: x.heldOf(r)}
	s := recent.state
	average := 1.0
	if s.docs > 0 && s.words > 0 {
		average = max(float64(s.words)/float64(s.docs), p.short)
	}
	p.base = p.k1 * (1 - x.opts.B)
	p.perWord = p.k1 * x.opts.B / average

	for i, t := range terms {
		l := &postings{term: t, number: i, held: p.held.list(t)}
		if l.held == nil {
			if l.reader, err = r.TermFieldReader(ctx, []byte(t), wordsField, true, true, false); err != nil {
				return p, fmt.Errorf("read the list of %q: %w", t, err)
			}
			l.count = l.reader.Count()
		} else {
			l.count = l.held.count
		}
		if n := l.count; l.held == nil && p.held != nil && n <= maxHeldList {
			l.read = &list{count: n, docs: make([]posting, 0, min(n, 512))}
		}
		l.count += recent.counts[i]
		l.weight = idf(s.docs, l.count) * (p.k1 + 1)
		// The sum of a document's parts is rounded, the bound must not be below it.
		l.bound = l.weight * (1 + 1e-9)
		l.value = idf(max(s.docs, fairDocs), l.count)
		p.lists = append(p.lists, l)
	}
	p.choose(x.opts)
	for _, l := range p.lists[:p.common] {
		if err := l.skim(ctx, r); err != nil {
			return p, err
		}
	}
	sum := 0.0
	for _, l := range p.lists {
		sum += l.bound
		p.ends = append(p.ends, sum)
	}
	p.parts = make([]float32, len(p.lists))
	p.res.Values, p.res.Named = p.values()
	return p, nil
}

// choose keeps the rarest lists, as many as MaxTerms allows of those that match
// anything, and decides which of them bring up documents.
func (p *plan) choose(o Options) {
	terms := slices.Clone(p.lists) // in the order of the text
	slices.SortFunc(p.lists, func(a, b *postings) int {
		return cmp.Or(cmp.Compare(a.count, b.count), cmp.Compare(a.term, b.term))
	})
	matching, read := 0, uint64(0)
	for _, l := range p.lists {
		if l.count == 0 {
			continue
		}
		matching++
		read += l.count
		l.dropped = matching > o.MaxTerms
		l.common = matching > enoughTerms && o.MaxPostings >= 0 && read > uint64(o.MaxPostings)
	}
	p.lists = slices.DeleteFunc(p.lists, func(l *postings) bool { return l.dropped })
	slices.Reverse(p.lists)
	for _, l := range terms {
		switch {
		case l.dropped:
			p.res.Dropped = append(p.res.Dropped, l.term)
			l.close()
			continue
		case l.common:
			p.res.Common = append(p.res.Common, l.term)
			p.common++
		}
		p.res.Terms = append(p.res.Terms, l.term)
		p.res.Weight += l.weight
	}
}

// fairDocs is the least number of documents that Share takes a collection to
// have. Among a dozen documents on one subject the words of that subject are in
// all of them and their idf is next to nothing, though it is they that a
// question is about.
const fairDocs = 1000

// idf is BM25's inverse document frequency in the form that is never negative:
// ln(1 + (N - n + 0.5) / (n + 0.5)).
func idf(docs, count uint64) float64 {
	n := float64(min(count, docs))
	return math.Log(1 + (float64(docs)-n+0.5)/(n+0.5))
}

func (p *plan) close() {
	for _, l := range p.lists {
		l.close()
	}
}

func (l *postings) close() {
	if l.reader != nil {
		_ = l.reader.Close() // returns it to the snapshot; never fails
	}
}

// skim opens the list anew, without frequencies: then the engine can skip most of
// a long one instead of reading through it. A common term counts once, however
// often a document has it.
func (l *postings) skim(ctx context.Context, r index.IndexReader) error {
	if l.held != nil {
		return nil
	}
	l.close()
	reader, err := r.TermFieldReader(ctx, []byte(l.term), wordsField, false, false, false)
	if err != nil {
		return fmt.Errorf("read the list of %q: %w", l.term, err)
	}
	l.reader, l.read = reader, nil
	return nil
}

// worth is what tf occurrences are worth in a document of this norm: the
// engine keeps 1/sqrt(length).
func (p *plan) worth(l *postings, tf, norm float64) float64 {
	words := 1 / (norm * norm)
	return l.weight * tf / (tf + p.base + p.perWord*max(words, p.short))
}

// next moves to the next document.
func (l *postings) next() error {
	if l.held != nil {
		l.step()
		return nil
	}
	d, err := l.reader.Next(&l.here)
	return l.moved(d, err)
}

// seek moves to document number to or the first after it; to is past the
// current one. buf is scratch.
func (l *postings) seek(to uint64, buf index.IndexInternalID) error {
	if l.held != nil {
		left := l.held.docs[min(l.place, len(l.held.docs)):]
		n, _ := slices.BinarySearchFunc(left, to, func(p posting, to uint64) int { return cmp.Compare(uint64(p.doc), to) })
		l.place += n
		l.step()
		return nil
	}
	l.read = nil // what it skips is missing there
	buf.SetValue(to)
	d, err := l.reader.Advance(buf, &l.here)
	return l.moved(d, err)
}

// step takes the document at place of a list that is held.
func (l *postings) step() {
	l.at = done
	if l.place < len(l.held.docs) {
		d := l.held.docs[l.place]
		l.at, l.here.Freq, l.here.Norm = uint64(d.doc), uint64(d.freq), float64(d.norm)
		if l.common {
			l.here.Freq = 0 // as skim has it
		}
		l.place++
	}
}

func (l *postings) moved(d *index.TermFieldDoc, err error) error {
	l.at = done
	if d != nil {
		l.at = d.ID.Value()
		if l.read != nil {
			l.read.docs = append(l.read.docs, posting{doc: uint32(l.at), freq: uint32(d.Freq), norm: float32(d.Norm)})
		}
	}
	return err
}

// keep holds the lists that the search has read to their ends.
func (p *plan) keep() {
	for _, l := range p.lists {
		if l.read != nil && l.at == done {
			p.held.keep(l.term, l.read)
		}
	}
}
