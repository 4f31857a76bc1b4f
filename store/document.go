package store

import (
	"time"

	"github.com/kenlayer/ken"
)

// Document is one source of repository content, cut into chunks: a file, or a
// commit. It is not in the log, because the repository is its own truth.
type Document struct {
	// Path is slash-separated and relative to the root; a commit is "git:" and
	// its hash.
	Path string
	Known
	// Chunks are in the order of the source. There are none in a file that is
	// empty or that Known.Skip rules out.
	Chunks []ken.Claim
}

// Known is what a store remembers of a document beside its chunks, so that the
// next run need not read the file. A store keeps it whole and returns it equal,
// times to the nanosecond.
type Known struct {
	Hash    string    `json:"hash"`           // "sha256:" and hex, of the content as it lies on disk
	Size    int64     `json:"size"`           // bytes
	ModTime time.Time `json:"mod_time"`       // of the file, or the commit's author date; UTC
	ReadAt  time.Time `json:"read_at"`        // when the content was read; UTC
	Cut     string    `json:"cut"`            // version and settings of what cut it; a change cuts it again
	Skip    string    `json:"skip,omitempty"` // why it has no chunks at all

	// Withheld lists the passages left out because they look like secrets.
	Withheld []Withheld `json:"withheld,omitempty"`
}

// Withheld is a passage, or a whole file, kept out because it looks like a
// secret.
type Withheld struct {
	Path string `json:"path,omitempty"` // empty inside Known, where the document has it
	Line int    `json:"line,omitempty"` // where the passage starts; 0 means the whole file
	What string `json:"what"`           // the sort of secret, never the secret
}
