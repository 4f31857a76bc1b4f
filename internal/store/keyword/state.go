package keyword

import (
	"encoding/binary"
	"fmt"

	index "github.com/blevesearch/bleve_index_api"

	"github.com/kenlayer/ken/internal/analysis"
)

// format is raised when what an index holds, or how, changes.
var format = fmt.Sprintf("ken keyword index 1, analysis %d", analysis.Version)

// Keys of the engine's internal values. They are stored with the documents of
// the same batch, and a reader sees them as they were when it was taken.
var (
	stampKey = []byte("stamp")
	stateKey = []byte("state")
)

// state is what an index knows of itself. Scoring needs the sums, and a sum
// that is kept is exact where one derived from the files would count deleted
// documents.
type state struct {
	watermark uint64
	docs      uint64
	words     uint64 // the documents' lengths, added up
	next      uint64 // one past the largest ref ever seen
}

func (s state) encode() []byte {
	b := make([]byte, 0, 32)
	for _, v := range []uint64{s.watermark, s.docs, s.words, s.next} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return b
}

func decodeState(b []byte) (state, error) {
	if len(b) != 32 {
		return state{}, fmt.Errorf("the index's state has %d bytes, not 32", len(b))
	}
	at := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
	return state{watermark: at(0), docs: at(1), words: at(2), next: at(3)}, nil
}

func readState(r index.IndexReader) (state, error) {
	b, err := r.GetInternal(stateKey)
	if err != nil {
		return state{}, fmt.Errorf("read the index's state: %w", err)
	}
	return decodeState(b)
}

func stamp(storeID string) string { return format + "\x00" + storeID }
