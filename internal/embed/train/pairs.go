package train

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/embed/table"
)

// Pair holds two related texts: a search for Q should find P.
type Pair struct {
	Q string `json:"q"`
	P string `json:"p"`
	// Src is the source of the pair. A part of the batches contains pairs of one source
	// only, and a source's weight determines how often its pairs are used.
	Src string `json:"src"`
}

// maxLine is the maximum size of a line in a file of pairs, in bytes.
const maxLine = 1 << 20

// Read reads files of pairs, one JSON object per line; a file whose name ends in .gz is
// decompressed. Pairs with an empty text are left out. progress, if not nil, is called
// with the number of pairs read. Errors are *ken.Error that name file and line, or the
// context's own.
func Read(ctx context.Context, files []string, progress func(Progress)) ([]Pair, error) {
	var pairs []Pair
	for _, name := range files {
		if err := readFile(ctx, name, func(p Pair) {
			if pairs = append(pairs, p); len(pairs)%10_000 == 0 {
				report(progress, Progress{Stage: "read", Done: len(pairs)})
			}
		}); err != nil {
			return nil, err
		}
	}
	report(progress, Progress{Stage: "read", Done: len(pairs), Total: len(pairs)})
	return pairs, nil
}

func readFile(ctx context.Context, name string, emit func(Pair)) error {
	f, err := os.Open(name)
	if err != nil {
		code := ken.CodeInvalid
		if errors.Is(err, fs.ErrNotExist) {
			code = ken.CodeNotFound
		}
		return &ken.Error{Code: code, Msg: "read pairs", Err: err, Try: "Check the path."}
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return unreadable(name, 0, err)
		}
	}
	return readLines(ctx, r, name, emit)
}

// readLines reads pairs until r or ctx ends.
func readLines(ctx context.Context, r io.Reader, name string, emit func(Pair)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	n := 0
	for lines.Scan() {
		n++
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(lines.Bytes()) == 0 {
			continue
		}
		var p Pair
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return unreadable(name, n, err)
		}
		if strings.TrimSpace(p.Q) == "" || strings.TrimSpace(p.P) == "" {
			continue
		}
		emit(p)
	}
	if err := lines.Err(); err != nil {
		return unreadable(name, n+1, err)
	}
	return ctx.Err()
}

func unreadable(name string, line int, err error) error {
	return &ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("read pairs: %s, line %d", name, line), Err: err,
		Try: `Each line is one JSON object with the texts "q" and "p" and the source's name "src".`}
}

const (
	// maxQuery and maxPassage are the maximum number of tokens of a text that are used.
	maxQuery, maxPassage = 64, 128
)

// corpus holds the pairs as tokens.
type corpus struct {
	ids     []int32  // of all texts, one after the other
	ends    []int64  // ends[2i] is where the query of pair i ends, ends[2i+1] its passage
	source  []int32  // of each pair
	sources []string // their names, in the order of their first pair
	query   []uint64 // hash of each query's text: equal texts are no negatives
	passage []uint64
}

func (c *corpus) len() int { return len(c.source) }

func (c *corpus) q(i int) []int32 {
	from := int64(0)
	if i > 0 {
		from = c.ends[2*i-1]
	}
	return c.ids[from:c.ends[2*i]]
}

func (c *corpus) p(i int) []int32 { return c.ids[c.ends[2*i]:c.ends[2*i+1]] }

// cut tokenizes the pairs. A pair with a text without tokens is left out.
func cut(ctx context.Context, pairs []Pair, v *table.Vocabulary, o *Options) (*corpus, error) {
	const block = 8192
	type part struct {
		ids  []int32
		ends []int64 // two a pair, within ids
	}
	parts := make([]part, (len(pairs)+block-1)/block)
	parallel(ctx, o.Workers, len(parts), func(b int) {
		var t part
		var text []int32
		for _, p := range pairs[b*block : min((b+1)*block, len(pairs))] {
			text = v.Append(text[:0], p.Q)
			t.ids = append(t.ids, text[:min(len(text), maxQuery)]...)
			t.ends = append(t.ends, int64(len(t.ids)))
			text = v.Append(text[:0], p.P)
			t.ids = append(t.ids, text[:min(len(text), maxPassage)]...)
			t.ends = append(t.ends, int64(len(t.ids)))
		}
		parts[b] = t
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c := &corpus{}
	numbers := map[string]int32{}
	for b, t := range parts {
		start := int64(0)
		for i, p := range pairs[b*block : min((b+1)*block, len(pairs))] {
			mid, end := t.ends[2*i], t.ends[2*i+1]
			if mid > start && end > mid {
				c.ids = append(c.ids, t.ids[start:end]...)
				c.ends = append(c.ends, int64(len(c.ids))-(end-mid), int64(len(c.ids)))
				n, ok := numbers[p.Src]
				if !ok {
					n = int32(len(c.sources))
					numbers[p.Src] = n
					c.sources = append(c.sources, p.Src)
				}
				c.source = append(c.source, n)
				c.query = append(c.query, hashText(p.Q))
				c.passage = append(c.passage, hashText(p.P))
			}
			start = end
		}
		parts[b] = part{}
		report(o.Progress, Progress{Stage: "cut", Done: min((b+1)*block, len(pairs)), Total: len(pairs)})
	}
	return c, nil
}

func hashText(s string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, s) // a hash never fails
	return h.Sum64()
}

// frequencies returns the number of occurrences of each of n tokens.
func (c *corpus) frequencies(n int) []int64 {
	f := make([]int64, n)
	for _, id := range c.ids {
		f[id]++
	}
	return f
}

const (
	// maxLookups is the number of a query's rarest tokens that are looked up.
	maxLookups = 5
	// tooCommon is the maximum number of passages of a source with a token that is
	// looked up.
	tooCommon = 3000
	// nearest is the number of passages from which a query's negatives are chosen.
	nearest = 12
	// answerRatio is the ratio to the pair's own score above which a passage probably also
	// answers the query, and is left out.
	answerRatio = 1.2
)

// mine finds for each pair up to o.Hard passages of its source that share rare words
// with its query. It ranks each source's distinct passages by the sum of the words'
// idf; the other parts of BM25 matter little for passages cut to the same length.
func mine(ctx context.Context, c *corpus, vocabulary int, o *Options) ([][]int32, error) {
	hard := make([][]int32, c.len())
	bySource := make([][]int32, len(c.sources))
	for i, s := range c.source {
		bySource[s] = append(bySource[s], int32(i))
	}
	done := 0
	for _, list := range bySource {
		x := newInverted(c, list, vocabulary)
		const block = 512
		parallel(ctx, o.Workers, (len(list)+block-1)/block, func(b int) {
			s := &search{scores: make([]float32, len(x.pairs))}
			for _, i := range list[b*block : min((b+1)*block, len(list))] {
				hard[i] = x.negatives(c, s, i, o.Hard)
			}
		})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		done += len(list)
		report(o.Progress, Progress{Stage: "negatives", Done: done, Total: c.len()})
	}
	return hard, nil
}

// inverted is an inverted index: the passages of each token.
type inverted struct {
	pairs  []int32 // one pair for each distinct passage
	places map[uint64]int32
	starts []int32
	lists  []int32 // places in pairs
}

func newInverted(c *corpus, list []int32, vocabulary int) *inverted {
	x := &inverted{starts: make([]int32, vocabulary+1), places: map[uint64]int32{}}
	for _, i := range list {
		if _, ok := x.places[c.passage[i]]; !ok {
			x.places[c.passage[i]] = int32(len(x.pairs))
			x.pairs = append(x.pairs, i)
		}
	}
	last := make([]int32, vocabulary)
	each := func(f func(place int32, id int32)) {
		clear(last)
		for place, i := range x.pairs {
			for _, id := range c.p(int(i)) {
				if last[id] != int32(place)+1 {
					last[id] = int32(place) + 1
					f(int32(place), id)
				}
			}
		}
	}
	each(func(_, id int32) { x.starts[id+1]++ })
	for id := range vocabulary {
		x.starts[id+1] += x.starts[id]
	}
	x.lists = make([]int32, x.starts[vocabulary])
	next := slices.Clone(x.starts)
	each(func(place, id int32) {
		x.lists[next[id]] = place
		next[id]++
	})
	return x
}

func (x *inverted) of(id int32) []int32 { return x.lists[x.starts[id]:x.starts[id+1]] }

// search is the working memory of one query.
type search struct {
	terms  []int32
	scores []float32 // of each place, 0 between queries
	found  []int32   // places with a score
}

func (x *inverted) negatives(c *corpus, s *search, i int32, n int) []int32 {
	s.terms = append(s.terms[:0], c.q(int(i))...)
	slices.Sort(s.terms)
	s.terms = slices.DeleteFunc(slices.Compact(s.terms), func(id int32) bool {
		n := len(x.of(id))
		return n == 0 || n > tooCommon
	})
	slices.SortFunc(s.terms, func(a, b int32) int {
		return cmp.Or(cmp.Compare(len(x.of(a)), len(x.of(b))), cmp.Compare(a, b))
	})
	s.terms = s.terms[:min(len(s.terms), maxLookups)]
	for _, id := range s.terms {
		idf := float32(math.Log(1 + float64(len(x.pairs))/float64(len(x.of(id)))))
		for _, place := range x.of(id) {
			if s.scores[place] == 0 {
				s.found = append(s.found, place)
			}
			s.scores[place] += idf
		}
	}
	own := float32(0)
	if place, ok := x.places[c.passage[i]]; ok {
		own = s.scores[place]
	}
	best := s.best(c, x, i, own, n)
	for _, place := range s.found {
		s.scores[place] = 0
	}
	s.found = s.found[:0]
	return best
}

// best returns the pairs of the n best places that are not answers themselves.
func (s *search) best(c *corpus, x *inverted, i int32, own float32, n int) []int32 {
	var top [nearest]int32 // the best so far, best first
	k := 0
	for _, place := range s.found {
		if k == nearest && !s.better(place, top[k-1]) {
			continue
		}
		if k < nearest {
			k++
		}
		j := k - 1
		for ; j > 0 && s.better(place, top[j-1]); j-- {
			top[j] = top[j-1]
		}
		top[j] = place
	}
	var best []int32
	for _, place := range top[:k] {
		j := x.pairs[place]
		if c.passage[j] == c.passage[i] || c.query[j] == c.query[i] || own > 0 && s.scores[place] > answerRatio*own {
			continue
		}
		if best = append(best, j); len(best) == n {
			break
		}
	}
	return best
}

// better reports whether place a ranks before b: by score, then by position.
func (s *search) better(a, b int32) bool {
	return s.scores[a] > s.scores[b] || s.scores[a] == s.scores[b] && a < b
}

// Mix returns the weight of each source of the shipped table's pairs: large sets of one
// kind of text count less; dialogue, questions and Python more. An unknown source has
// the weight 1.
func Mix(src string) float64 {
	if w, ok := mix[src]; ok {
		return w
	}
	if strings.HasSuffix(src, "-code") {
		return 1.5
	}
	return 1
}

var mix = map[string]float64{
	"cpp-docs":               0.35,
	"wordnet":                0.4,
	"go-modules":             0.8,
	"python-stdlib":          1.5,
	"synthetic-persona-chat": 3,
	"qmsum":                  2,
	"molweni":                2,
	"taskmaster":             2,
	"clinc-oos":              1.5,
	"pubmedqa":               2,
	"scitldr":                2,
	"covid-qa":               2,
	"hybridqa":               2,
}
