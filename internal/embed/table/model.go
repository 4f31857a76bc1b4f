package table

import (
	"context"
	"io"
	"sync"

	"github.com/kenlayer/ken/embed"
)

var _ embed.Embedder = (*Model)(nil)

// maxBy is the maximum weight of a word, so that no sum overflows.
const maxBy = 1e6

// maxText is the number of bytes of a text that are embedded; the rest is ignored.
const maxText = 32 << 10

// Model is an embed.Embedder with a table in memory, which takes little more than the
// file's size. It is safe for concurrent use.
type Model struct {
	name       string
	info       Info
	data       []byte // the file; vocabulary and rows point into it
	dim        int
	vocabulary *Vocabulary
	scales     []float32
	most       float32 // the largest scale
	rows       []byte  // int8
	scratch    sync.Pool
}

// Model implements embed.Embedder: "ken:" and a hash of the content.
func (m *Model) Model() string { return m.name }

// Dim implements embed.Embedder.
func (m *Model) Dim() int { return m.dim }

// Local reports true: nothing leaves the process.
func (m *Model) Local() bool { return true }

// Info returns the description in the file.
func (m *Model) Info() Info { return m.info }

// Size returns the file's size in bytes.
func (m *Model) Size() int { return len(m.data) }

// Vocabulary returns the model's tokens.
func (m *Model) Vocabulary() *Vocabulary { return m.vocabulary }

// WriteTo writes the file.
func (m *Model) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(m.data)
	return int64(n), err
}

// Row writes the row of token i into dst, which has Dim numbers.
func (m *Model) Row(dst []float32, i int) {
	row := m.rows[i*m.dim : (i+1)*m.dim]
	for j := range dst[:m.dim] {
		dst[j] = m.scales[i] * float32(int8(row[j]))
	}
}

// Embed implements embed.Embedder. Large batches use all cores. Only the first 32 KiB
// of a text are embedded.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return embed.Batch(ctx, texts, func(text string) []float32 {
		s := m.scratch.Get().(*scratch)
		defer m.scratch.Put(s)
		return m.embed(s, text)
	})
}

func (m *Model) embed(s *scratch, text string) []float32 {
	s.ids = m.vocabulary.Append(s.ids[:0], head(text))
	s.reset(m.most)
	for _, id := range s.ids {
		m.add(s, id, 1)
	}
	return s.vector()
}

// EmbedQuery returns the vector of one text in which each word is weighted by
// weight(word). A caller passes the weight of a word in its collection, such as
// a/(a+share of all words), so that very common words count little. word is in lower
// case, as Words returns it; weights must be finite and not negative, and 0 leaves a
// word out. A pair of words has the smaller weight of the two. A nil weight is 1 for
// each word, as in Embed. The vector is nil when no word is left.
func (m *Model) EmbedQuery(text string, weight func(word string) float64) []float32 {
	s := m.scratch.Get().(*scratch)
	defer m.scratch.Put(s)
	if weight == nil {
		return m.embed(s, text)
	}
	s.ids, s.weights = s.ids[:0], s.weights[:0]
	most := float32(0)
	add := func(id int32, by float32) {
		if !(by > 0) {
			return // NaN too
		}
		by = min(by, maxBy)
		s.ids, s.weights = append(s.ids, id), append(s.weights, by)
		most = max(most, by*m.scales[id])
	}
	before, lesser := int32(-1), float32(0)
	Words(head(text), func(w []byte) {
		by := float32(weight(string(w)))
		_, id := m.vocabulary.find(hash(w), w)
		if id < 0 {
			before = -1
			s.pieces = m.vocabulary.appendPieces(s.pieces[:0], w)
			for _, piece := range s.pieces {
				add(piece, by)
			}
			return
		}
		add(id, by)
		if pair := m.vocabulary.pair(before, id); pair >= 0 {
			add(pair, min(lesser, by))
		}
		before, lesser = id, by
	})
	s.reset(most)
	for i, id := range s.ids {
		m.add(s, id, s.weights[i])
	}
	return s.vector()
}

// Coverage says how much of a text a vocabulary covers.
type Coverage struct {
	Words   int // all words of the text
	Cut     int // words that are split into pieces
	Unknown int // words without any known piece
}

// Coverage counts the words of a text, and those that are split or unknown.
func (m *Model) Coverage(text string) Coverage {
	var c Coverage
	var pieces []int32
	Words(text, func(w []byte) {
		c.Words++
		if _, id := m.vocabulary.find(hash(w), w); id >= 0 {
			return
		}
		if pieces = m.vocabulary.appendPieces(pieces[:0], w); len(pieces) > 0 {
			c.Cut++
		} else {
			c.Unknown++
		}
	})
	return c
}

// head cuts a text that is too long.
func head(text string) string {
	if len(text) > maxText {
		text = text[:maxText] // the last bytes may be no character, which ends a word
	}
	return text
}
