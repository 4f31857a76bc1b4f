package evals

import (
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

// Mode is a way to search.
type Mode string

// Modes. They set switches and leave the rest of the configuration alone.
const (
	ModeKeyword Mode = "keyword" // by words alone
	ModeVector  Mode = "vector"  // by meaning alone
	ModeHybrid  Mode = "hybrid"  // both legs, ranked as configured
	ModeRRF     Mode = "rrf"     // both legs, in the order of reciprocal rank fusion alone
	ModeWRRF    Mode = "wrrf"    // the same, the vector leg counting retrieval.rrf_weight
)

// ParseModes reads a list such as "keyword,hybrid". An unknown name and a
// repeated one are ErrInvalid.
func ParseModes(list string) ([]Mode, error) {
	var out []Mode
	seen := map[Mode]bool{}
	for name := range strings.SplitSeq(list, ",") {
		m := Mode(strings.TrimSpace(name))
		switch m {
		case ModeKeyword, ModeVector, ModeHybrid, ModeRRF, ModeWRRF:
		default:
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: "modes", Msg: "unknown mode " + string(m), Try: "Use some of keyword, vector, hybrid, rrf and wrrf."}
		}
		if seen[m] {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: "modes", Msg: string(m) + " is named twice", Try: "Name every mode once."}
		}
		seen[m] = true
		out = append(out, m)
	}
	return out, nil
}

// vectors reports whether the mode has a vector leg.
func (m Mode) vectors() bool { return m != ModeKeyword }

func (m Mode) apply(c *config.Config) {
	c.Middleware.Keyword, c.Middleware.Vector = m != ModeVector, m.vectors()
	switch m {
	case ModeRRF:
		c.Retrieval.Rank = config.RankRRF
	case ModeWRRF:
		c.Retrieval.Rank = config.RankWeighted
	}
}
