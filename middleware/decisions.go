package middleware

import (
	"path"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/decision"
)

// stillHolds says which files of decisions hold no more, so that what was replaced or
// given up is found by whoever looks for it and comes into no turn by itself. Those that
// are only proposed say so in their headings.
func (l *Layer) stillHolds() func(path string, content []byte) ken.Status {
	if l.code.base == nil {
		return nil
	}
	folders := l.cfg.Decisions.Folders
	if len(folders) == 0 {
		folders = decision.DefaultFolders()
	}
	return func(p string, content []byte) ken.Status {
		if !strings.EqualFold(path.Ext(p), ".md") || !below(folders, p) {
			return ""
		}
		r, _ := decision.Parse(p, content)
		switch {
		case r.Archived, r.Status == decision.Superseded, r.Status == decision.Deprecated:
			return ken.StatusSuperseded
		case r.Status == decision.Rejected:
			return ken.StatusDisputed
		}
		return ""
	}
}

func below(folders []string, p string) bool {
	for _, f := range folders {
		if strings.HasPrefix(p, path.Clean(f)+"/") {
			return true
		}
	}
	return false
}
