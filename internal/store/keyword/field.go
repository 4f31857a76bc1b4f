package keyword

import (
	"encoding/binary"

	"github.com/blevesearch/bleve/v2/document"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/kenlayer/ken/internal/analysis"
)

// Names of the two fields of a document in the engine.
const (
	wordsField  = "w" // its terms, with frequencies and its length; not stored
	lengthField = "n" // its length, stored, for the sums when it is replaced
)

// Doc is one document as the index sees it.
type Doc struct {
	Ref     uint32
	Heading string   // indexed twice, so that its words weigh more
	Text    string   //
	Terms   []string // tags, entities, other exact words
}

var tokens = analysis.Tokens // a test has it panic

// analyze counts the document's terms. All parts share one field, so that a
// query needs one reader per term.
func (d Doc) analyze(buf []analysis.Token) (*words, []analysis.Token) {
	w := &words{}
	buf = tokens(buf[:0], d.Heading)
	buf = append(buf, buf...)
	buf = tokens(buf, d.Text)
	for _, t := range d.Terms {
		buf = tokens(buf, t)
	}
	w.length = len(buf)
	w.freqs = make(index.TokenFrequencies, len(buf))
	freqs := make([]index.TokenFreq, 0, len(buf)) // one allocation; never grows
	for _, t := range buf {
		f := w.freqs[t.Term]
		if f == nil {
			freqs = append(freqs, index.TokenFreq{Term: []byte(t.Term)})
			f = &freqs[len(freqs)-1]
			w.freqs[t.Term] = f
		}
		f.SetFrequency(f.Frequency() + 1)
	}
	return w, buf
}

// document wraps counted terms for the engine.
func (w *words) document(ref uint32) *document.Document {
	d := document.NewDocument(refID(ref))
	d.AddField(w)
	d.AddField(length(w.length))
	return d
}

// refID is the engine's name for a document: four bytes, big endian.
func refID(ref uint32) string {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], ref)
	return string(b[:])
}

// words is a field whose terms are counted before the engine asks for them.
type words struct {
	freqs  index.TokenFrequencies
	length int
}

func (w *words) Name() string                                     { return wordsField }
func (w *words) Options() index.FieldIndexingOptions              { return index.IndexField }
func (w *words) Analyze()                                         {}
func (w *words) AnalyzedLength() int                              { return w.length }
func (w *words) AnalyzedTokenFrequencies() index.TokenFrequencies { return w.freqs }
func (w *words) ArrayPositions() []uint64                         { return nil }
func (w *words) Value() []byte                                    { return nil }
func (w *words) NumPlainTextBytes() uint64                        { return 0 }
func (w *words) EncodedFieldType() byte                           { return 't' }
func (w *words) Size() int                                        { return 64 * len(w.freqs) }

// length is a stored field of one number.
type length int

func (n length) Name() string                                     { return lengthField }
func (n length) Options() index.FieldIndexingOptions              { return index.StoreField }
func (n length) Analyze()                                         {}
func (n length) AnalyzedLength() int                              { return 0 }
func (n length) AnalyzedTokenFrequencies() index.TokenFrequencies { return nil }
func (n length) ArrayPositions() []uint64                         { return nil }
func (n length) Value() []byte                                    { return binary.AppendUvarint(nil, uint64(n)) }
func (n length) NumPlainTextBytes() uint64                        { return 0 }
func (n length) EncodedFieldType() byte                           { return 't' }
func (n length) Size() int                                        { return 8 }
