package api

import (
	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
)

// hash gives files of the project the hash that they have now, so that it shows when they
// have changed. One that the caller hashed, or that is of a named repository or commit, is
// left as it is; any other is a name, and so is every file where the project is another
// owner's. Each file is read once, and none for a caller that is gone.
func (c *call) hash(evidence []ken.Evidence) {
	root := c.api.l.RootOf(c.who.Owner)
	if root == "" {
		return
	}
	read := map[string]ken.Evidence{} // by the name that was given; without a hash where there is none
	for i := range evidence {
		e := &evidence[i]
		if e.Kind != ken.EvidenceFile || e.Repo != "" || e.CommitSHA != "" || e.ContentHash != "" || c.ctx().Err() != nil {
			continue
		}
		is, known := read[e.Path]
		if !known {
			is, _ = provenance.Evidence(root, e.Path) // else it is a name
			read[e.Path] = is
		}
		if is.ContentHash != "" {
			e.Path, e.ContentHash = is.Path, is.ContentHash
		}
	}
}
