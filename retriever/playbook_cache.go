package retriever

import (
	"hash/maphash"
	"strings"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// How much a word of the question counts for a playbook, by where it stands
// there. The first paragraph is the description: it says when to use it, and the
// rest of a method uses the words of everything that it touches.
const (
	inSubject = 1    // heading, description, tags and entities
	inTitle   = 0.5  // headings further down
	inBody    = 0.25 // elsewhere
)

// phrases are what descriptions say of themselves and not of their subject: "Use
// this skill when the user asks for …".
var phrases = map[string]bool{"use": true, "user": true, "skill": true, "playbook": true, "ask": true, "want": true,
	"somebodi": true, "someon": true}

// maxBooks bounds the cache: some kilobytes each.
const maxBooks = 4096

// PlaybookCache remembers which words playbooks are made of, so that a turn need
// not read them again. It keeps hashes of words and no text. Safe for concurrent
// use, and for any number of stores.
type PlaybookCache struct {
	seed maphash.Seed

	mu sync.RWMutex // guards m
	m  map[string]*book
}

// book is what one version of a playbook is about.
type book struct {
	version uint64
	words   map[uint64]float32 // hash of the term to what it counts
	// may has the bit of each word's hash set. Nearly every question is about other
	// things than nearly every playbook, and a bit is sooner looked at than a map.
	may [32]uint64
}

// worth is what a term counts.
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

// at returns what is known of a version of a playbook; nil when it is not.
func (c *PlaybookCache) at(row *store.Row) *book {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if b := c.m[row.ID]; b != nil && b.version == row.Version {
		return b
	}
	return nil
}

// keep reads a playbook and keeps what it is about.
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

// subject splits a playbook's text after its first paragraph that is not a
// heading alone.
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
