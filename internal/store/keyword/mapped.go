package keyword

import (
	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/kenlayer/ken/internal/mapped"
)

// Release gives up what the process has in memory of the index's files: see package
// mapped. Searches go on meanwhile.
func (x *Index) Release() {
	engine, done, err := x.use()
	if err != nil {
		return
	}
	defer done()
	r, err := engine.Reader()
	if err != nil {
		return
	}
	defer r.Close() // only returns the snapshot, which keeps the files mapped until then
	snapshot, ok := r.(*scorch.IndexSnapshot)
	if !ok {
		return
	}
	for _, s := range snapshot.Segments() {
		// A segment that is in memory still has no path.
		if f, ok := s.Segment().(interface {
			Path() string
			Data() []byte
		}); ok && f.Path() != "" {
			mapped.Release(f.Data())
		}
	}
}
