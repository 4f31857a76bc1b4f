package pairs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/embed/adapt"
)

// Sources of pairs.
const (
	SourceHeading    = "heading"
	SourceDecision   = "decision"
	SourceComment    = "comment"
	SourcePath       = "path" // weak: see adapt.Pair
	SourceCommit     = "commit"
	SourceCommitCode = "commit code"
)

// Options configures Mine. The zero value is the default. Negative numbers count as 0.
type Options struct {
	// Index selects the files and commits to read, as for search. Its Progress reports both.
	Index repository.Options
	// PerFile is the maximum number of pairs per file; 0 means 40. They are spread evenly over the file.
	PerFile int
	// Max is the maximum number of all pairs; 0 means 20,000. Tuning with so many takes a few minutes.
	Max int
}

const (
	defaultPerFile = 40
	defaultMax     = 20_000

	maxDiffs    = 500 // newest commits whose added lines are read; none with Index.NoHistory
	maxQuestion = 400 // maximum bytes of a pair's question
	minQuestion = 2   // terms
	minPassage  = 5   // terms
	maxSame     = 2   // maximum pairs with the same question; a heading that occurs more often says nothing
)

// Report is the result of mining.
type Report struct {
	Files   int    `json:"files"`
	Commits int    `json:"commits"`
	History string `json:"history,omitempty"` // why there is no git history; empty when there is
	Mined   int    `json:"mined"`             // pairs before the limits
	Common  int    `json:"common"`            // left out because their question occurs too often
	Over    int    `json:"over"`              // left out because of PerFile and Max
	Secrets int    `json:"secrets"`           // redacted
}

// Mine reads the repository in root. Errors are those of repository.Index and of ctx. If git is missing or fails, only
// the history is left out.
func Mine(ctx context.Context, root string, o Options) (adapt.Set, Report, error) {
	o.PerFile, o.Max = cmp.Or(max(o.PerFile, 0), defaultPerFile), cmp.Or(max(o.Max, 0), defaultMax)
	var s sink
	report, err := repository.Index(ctx, root, &s, o.Index)
	if err != nil {
		return adapt.Set{}, Report{}, fmt.Errorf("mine pairs: %w", err)
	}
	m := &miner{report: Report{Files: report.Files, Commits: report.Commits, History: report.History}}
	slices.SortStableFunc(s.docs, func(a, b repository.Document) int { return strings.Compare(a.Path, b.Path) })
	known := map[string]bool{}
	for _, d := range s.docs {
		if err := ctx.Err(); err != nil {
			return adapt.Set{}, Report{}, err
		}
		known[d.Path] = true
		m.addDocument(d)
	}
	if m.report.History == "" && !o.Index.NoHistory {
		err := diffs(ctx, root, maxDiffs, known, m.addChange)
		switch {
		case ctx.Err() != nil:
			return adapt.Set{}, Report{}, ctx.Err()
		case err != nil:
			m.report.History = "the commits' changes can't be read: " + err.Error()
		}
	}
	m.report.Mined = len(m.pairs)
	m.dropCommon()
	m.limit(o.PerFile, o.Max)
	return adapt.Set{Passages: m.passages, Pairs: m.pairs}, m.report, nil
}

// miner collects passages and pairs.
type miner struct {
	passages []string
	pairs    []adapt.Pair
	report   Report
}

// passage adds a passage and returns its number. It returns false if the text has too few terms to be found.
func (m *miner) passage(text string) (int, bool) {
	text = m.clean(text)
	if len(analysis.Terms(text)) < minPassage {
		return 0, false
	}
	m.passages = append(m.passages, text)
	return len(m.passages) - 1, true
}

// pair adds a pair, unless its question has too few terms.
func (m *miner) pair(q, src, file string, touches []string, passages ...int) {
	q = strings.Join(strings.Fields(m.clean(q)), " ")
	if len(q) > maxQuestion {
		cut := strings.LastIndexByte(q[:maxQuestion], ' ')
		q = strings.ToValidUTF8(q[:max(cut, 0)], "")
	}
	if len(passages) == 0 || len(analysis.Terms(q)) < minQuestion {
		return
	}
	m.pairs = append(m.pairs, adapt.Pair{Q: q, Passages: passages, Src: src, File: file, Touches: touches, Weak: src == SourcePath})
}

func (m *miner) clean(s string) string {
	s, found := guardrail.Redact(guardrail.Sanitize(s))
	m.report.Secrets += len(found)
	return strings.TrimSpace(s)
}

// dropCommon removes pairs whose question occurs too often ("Usage"), and duplicates.
func (m *miner) dropCommon() {
	count := map[string]int{}
	for _, p := range m.pairs {
		count[strings.ToLower(p.Q)]++
	}
	type same struct{ q, passage string }
	seen := map[same]bool{}
	m.pairs = slices.DeleteFunc(m.pairs, func(p adapt.Pair) bool {
		key := same{strings.ToLower(p.Q), m.passages[p.Passages[0]]}
		drop := count[key.q] > maxSame || seen[key]
		seen[key] = true
		if drop {
			m.report.Common++
		}
		return drop
	})
}

// limit keeps at most perFile pairs per file and at most most in all, evenly spread.
func (m *miner) limit(perFile, most int) {
	var out []adapt.Pair
	for at := 0; at < len(m.pairs); {
		end := at
		for end < len(m.pairs) && m.pairs[end].File == m.pairs[at].File {
			end++
		}
		out = append(out, spread(m.pairs[at:end], perFile)...)
		at = end
	}
	out = spread(out, most)
	m.report.Over = len(m.pairs) - len(out)
	m.pairs = out
}

// spread returns n of the pairs at even distances.
func spread(pairs []adapt.Pair, n int) []adapt.Pair {
	if len(pairs) <= n {
		return pairs
	}
	out := make([]adapt.Pair, n)
	for i := range out {
		out[i] = pairs[i*len(pairs)/n]
	}
	return out
}

// sink stores all indexed documents.
type sink struct{ docs []repository.Document }

// DocumentHashes implements repository.Sink. The sink is empty at first.
func (*sink) DocumentHashes(context.Context) (map[string]repository.Known, error) { return nil, nil }

// PutDocuments implements repository.Sink.
func (s *sink) PutDocuments(_ context.Context, docs []repository.Document) error {
	s.docs = append(s.docs, docs...)
	return nil
}

// TouchDocuments implements repository.Sink.
func (*sink) TouchDocuments(context.Context, map[string]repository.Known) error { return nil }

// RemoveDocuments implements repository.Sink.
func (*sink) RemoveDocuments(context.Context, []string) error { return nil }
