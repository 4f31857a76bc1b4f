package retriever

import (
	"context"
	"errors"
	"hash/maphash"
	"math"
	"strings"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

const (
	// DefaultPlaybooks is the maximum number of playbooks in a turn, unless Options.Limits has
	// another. A playbook is a method to follow, and nobody follows three at once.
	DefaultPlaybooks = 2
	// maxPlaybooks is how many playbooks a turn examines: the newest ones.
	maxPlaybooks = 1000
)

// Playbooks returns the source of playbooks. It finds every playbook that the filter accepts,
// newest first, with the number of the question's words that it is about. Retriever.match decides
// which ones fit the turn, with the other sources' results for the same words. It uses no index,
// because a project has few playbooks, and the first lines of each say what it is about.
//
// c caches what each playbook is about. If it is nil, all are read again in each search.
func Playbooks(p store.Projections, c *PlaybookCache) Source {
	if c == nil {
		c = NewPlaybookCache()
	}
	return playbooksSource{p, c}
}

type playbooksSource struct {
	p store.Projections
	c *PlaybookCache
}

func (playbooksSource) Name() string { return SourcePlaybooks }

func (playbooksSource) immediate() {}

func (l playbooksSource) Search(ctx context.Context, q *Query) (store.Result, error) {
	f, ok := narrowed(q.Filter, ken.KindPlaybook)
	if !ok {
		return store.Result{}, nil
	}
	res, err := l.p.Newest(ctx, &f, maxPlaybooks)
	if err != nil || len(res.Hits) == 0 {
		return res, err
	}
	res.Terms = analysis.Terms(KeywordText(q.Signals))
	hashes := make([]uint64, len(res.Terms))
	for i, t := range res.Terms {
		hashes[i] = l.c.hash(t)
	}
	l.fetch(ctx, res.Hits)
	parts := make([]float32, len(res.Hits)*len(hashes))
	having := make([]int, len(hashes)) // number of playbooks that have the term
	hits := res.Hits[:0]
	for _, h := range res.Hits {
		if err := ctx.Err(); err != nil {
			return res, err
		}
		b, err := l.book(ctx, h.Ref)
		if err != nil {
			return res, err
		}
		if b == nil {
			continue
		}
		h.Parts, parts = parts[:len(hashes):len(hashes)], parts[len(hashes):]
		for i, t := range hashes {
			if h.Parts[i] = b.worth(t); h.Parts[i] > 0 {
				having[i]++
			}
		}
		hits = append(hits, h)
	}
	res.Hits, res.Values = hits, rarity(having)
	return res, nil
}

// fetch prefetches the playbooks that are not in the cache, in case another process holds the
// store.
func (l playbooksSource) fetch(ctx context.Context, hits []store.Hit) {
	var unread []store.Ref
	for _, h := range hits {
		if row, ok := l.p.Row(h.Ref); ok && l.c.at(&row) == nil {
			unread = append(unread, h.Ref)
		}
	}
	store.Fetch(ctx, l.p, unread)
}

// book returns what a playbook is about; nil if it was deleted since.
func (l playbooksSource) book(ctx context.Context, ref store.Ref) (*book, error) {
	row, ok := l.p.Row(ref)
	if !ok {
		return nil, nil
	}
	if b := l.c.at(&row); b != nil {
		return b, nil
	}
	c, err := l.p.Claim(ctx, ref)
	if errors.Is(err, ken.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return l.c.keep(&row, &c), nil
}

// ownDocs is the assumed number of playbooks in rarity. The real number is too small to tell how
// rare a word is.
const ownDocs = 1000

// rarity returns the weight of each term in the question, by how few playbooks have it. It is for
// turns without a keyword source, which has better weights.
func rarity(having []int) []float32 {
	values := make([]float32, len(having))
	sum := 0.0
	for _, n := range having {
		sum += idf(n)
	}
	for i, n := range having {
		values[i] = float32(idf(n) / sum)
	}
	return values
}

func idf(n int) float64 {
	return math.Log(1 + (math.Max(ownDocs, float64(n))-float64(n)+0.5)/(float64(n)+0.5))
}

// How much a word of the question counts, by its position in the playbook. The first paragraph
// describes when to use the playbook. The rest uses words of everything that the method touches.
const (
	inSubject = 1    // heading, description, tags and entities
	inTitle   = 0.5  // in later headings
	inBody    = 0.25 // in other text
)

// phrases are words that descriptions use about themselves, not about their subject: "Use this
// skill when the user asks for …".
var phrases = map[string]bool{"use": true, "user": true, "skill": true, "playbook": true, "ask": true, "want": true,
	"somebodi": true, "someon": true}

// maxBooks is the maximum number of cached books, some kilobytes each.
const maxBooks = 4096

// PlaybookCache caches which words playbooks consist of, so that turns need not read them again. It
// holds hashes of words and no text. It is safe for concurrent use, and may be shared by any number
// of stores.
type PlaybookCache struct {
	seed maphash.Seed

	mu sync.RWMutex // guards m
	m  map[string]*book
}

// book holds the words of one version of a playbook.
type book struct {
	version uint64
	words   map[uint64]float32 // weight by the hash of the term
	// may is a Bloom filter of the words' hashes. Nearly every lookup fails, and a bit is faster to
	// check than a map.
	may [32]uint64
}

// worth returns the weight of a term; 0 if the book does not have it.
func (b *book) worth(hash uint64) float32 {
	if b.may[hash%32]&(1<<(hash/32%64)) == 0 {
		return 0
	}
	return b.words[hash]
}

// NewPlaybookCache returns an empty cache.
func NewPlaybookCache() *PlaybookCache {
	return &PlaybookCache{seed: maphash.MakeSeed(), m: map[string]*book{}}
}

func (c *PlaybookCache) hash(term string) uint64 { return maphash.String(c.seed, term) }

// at returns the cached version of a playbook; nil if there is none.
func (c *PlaybookCache) at(row *store.Row) *book {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if b := c.m[row.ID]; b != nil && b.version == row.Version {
		return b
	}
	return nil
}

// keep reads a playbook and caches its words.
func (c *PlaybookCache) keep(row *store.Row, claim *ken.Claim) *book {
	b := c.read(claim)
	b.version = row.Version
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.m) >= maxBooks {
		for victim := range c.m {
			delete(c.m, victim)
			break
		}
	}
	c.m[row.ID] = b
	return b
}

func (c *PlaybookCache) read(claim *ken.Claim) *book {
	b := &book{words: map[uint64]float32{}}
	var tokens []analysis.Token
	add := func(text string, weight float32) {
		tokens = analysis.Tokens(tokens[:0], text)
		for _, t := range tokens {
			if h := c.hash(t.Term); !phrases[t.Term] && b.words[h] < weight {
				b.words[h] = weight
				b.may[h%32] |= 1 << (h / 32 % 64)
			}
		}
	}
	description, body := subject(claim.Text)
	add(body, inBody)
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "#") {
			add(line, inTitle)
		}
	}
	add(description, inSubject)
	add(claim.Heading, inSubject)
	for _, list := range [][]string{claim.Tags, claim.Entities} {
		for _, w := range list {
			add(w, inSubject)
		}
	}
	return b
}

// subject splits a playbook's text after its first paragraph that is more than a heading.
func subject(text string) (description, body string) {
	for at := 0; ; {
		rest := strings.TrimLeft(text[at:], " \t\r\n")
		at = len(text) - len(rest)
		end := strings.Index(rest, "\n\n")
		if end < 0 {
			return text, ""
		}
		if paragraph := rest[:end]; !strings.HasPrefix(paragraph, "#") || strings.Contains(paragraph, "\n") {
			return text[:at+end], text[at+end:]
		}
		at += end
	}
}
