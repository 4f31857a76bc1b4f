package repository

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
)

// cutVersion changes whenever the same source would be cut, or rated,
// differently than before, so that what was indexed by an older version is cut
// again.
const cutVersion = "1"

const (
	maxTitle    = 100 // characters of one heading in a path
	maxStatus   = 60  // of a document's status
	maxEntities = 32  // of one chunk

	headingSeparator = " › "

	documentImportance = 0.5
	testImportance     = 0.3 // a test shows use, but a reader asks for the thing itself
)

// source is a file's content with what its chunks need to say about it.
type source struct {
	path    string
	text    string // valid UTF-8
	hash    string
	modTime time.Time
}

// chunks cuts a file by what its name says it is.
func (s source) chunks(lim limits) []chunk {
	lines := splitLines(s.text)
	var pieces []piece
	prefix := []string{s.path}
	parsed := false
	switch {
	case markdownFile(s.path):
		var status string
		if lines, pieces, status = cutMarkdown(lines, lim); status != "" {
			prefix = append(prefix, "Status: "+status)
		}
		parsed = true
	case strings.EqualFold(path.Ext(s.path), ".go"):
		if l, p, ok := cutGo(s.text, lines, lim); ok {
			lines, pieces, parsed = l, p, true
		}
	}
	if !parsed {
		lines, pieces = cutBlocks(lines, proseFile(s.path), lim)
	}
	ids := newNamer(s.path)
	out := make([]chunk, 0, len(pieces))
	for _, p := range pieces {
		text := p.text(lines)
		if strings.TrimSpace(text) == "" {
			continue
		}
		first, last := lines[p.from].no, lines[p.to-1].no
		heading := strings.Join(append(slices.Clone(prefix), p.path...), headingSeparator)
		c := claim(ids, heading, text, s.modTime)
		c.Source, c.SourceType = s.path+":"+strconv.Itoa(first), "repository"
		c.Importance = importance(s.path)
		c.Entities = entities(p.names)
		e := ken.FromFile(s.path, "", "")
		e.Line, e.ContentHash = first, s.hash
		c.Evidence = []ken.Evidence{e}
		out = append(out, chunk{c, first, last})
	}
	return out
}

// chunk is a claim with the lines that it was cut from.
type chunk struct {
	ken.Claim
	first, last int
}

func claim(ids *namer, heading, text string, at time.Time) ken.Claim {
	id, key := ids.name(heading, text)
	return ken.Claim{
		ID: id, Key: key, Kind: ken.KindDocument, Heading: heading, Text: text,
		Status: ken.StatusObserved, Confidence: 1, Importance: documentImportance,
		Actor: ken.Actor{Type: "system", ID: "repository"}, CreatedAt: at,
	}
}

// namer gives the chunks of one document ids and keys that follow from what they
// say, not from where they stand, so that an edit elsewhere leaves them alone.
type namer struct {
	path string
	seen map[[2]string]int
}

func newNamer(path string) *namer { return &namer{path: path, seen: map[[2]string]int{}} }

// name returns a UUID of version 8 and a key "path#" with its first digits. The
// second of two equal chunks is told from the first by its place among equals.
func (n *namer) name(heading, text string) (id, key string) {
	same := [2]string{heading, text}
	ordinal := n.seen[same]
	n.seen[same]++
	h := sha256.New()
	for _, s := range []string{n.path, heading, text, strconv.Itoa(ordinal)} {
		h.Write([]byte(strconv.Itoa(len(s)) + ":" + s))
	}
	var u uuid.UUID
	copy(u[:], h.Sum(nil))
	u[6] = u[6]&0x0f | 0x80 // version 8: made by a rule of our own
	u[8] = u[8]&0x3f | 0x80
	return u.String(), n.path + "#" + hex.EncodeToString(u[:6])
}

func entities(names []string) []string {
	var out []string
	for _, n := range names {
		if len(out) < maxEntities && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

func importance(p string) float64 {
	base := path.Base(p)
	stem := strings.TrimSuffix(base, path.Ext(base))
	for _, mark := range []string{"_test", ".test", ".spec", "_spec"} {
		if strings.HasSuffix(stem, mark) {
			return testImportance
		}
	}
	if strings.HasPrefix(base, "test_") || slices.Contains(strings.Split(path.Dir(p), "/"), "testdata") {
		return testImportance
	}
	return documentImportance
}
