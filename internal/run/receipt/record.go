package receipt

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/telemetry"
	"github.com/kenlayer/ken/store"
)

// Record is the receipt of one turn as it is kept, with what the turn says of
// itself. Block is empty, and so are, of every item that is no piece of the
// repository, Key, Source, Heading and Text: they are read from the claim, which
// may have changed or be gone.
type Record struct {
	ken.Receipt
	Project string `json:"project,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Model   string `json:"model,omitempty"`
	Branch  string `json:"branch,omitempty"`

	// Context is what the model read, in code points, by where it came from; nil of a
	// receipt that was kept before that was counted.
	Context *telemetry.Breakdown `json:"context_chars_breakdown,omitempty"`
	// Through is the number of the message, by session.Entry.Seq, that the request ended
	// with, as the session's journal has it; 0 when the journal had none of it, and of a
	// receipt that was kept before there was such a number.
	Through uint64 `json:"through,omitempty"`
	// BlockHash proves what the block was: see HashBlock. It is empty where there was no
	// block, where a claim of the block was forgotten since, because it could confirm a
	// guess at what that claim said, and of a receipt that was kept before there were
	// such hashes.
	BlockHash string `json:"block_hash,omitempty"`
}

// HashBlock is "sha256:" and, in hex, the hash of a turn's block, with the turn's id
// before it, so that two turns with the same block don't show it; "" for no block.
func HashBlock(turn, block string) string {
	if block == "" {
		return ""
	}
	h := sha256.New()
	h.Write([]byte(turn))
	h.Write([]byte{0})
	h.Write([]byte(block))
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// lean returns what of a record may be kept. It shares nothing that is changed
// with r.
func (r Record) lean() Record {
	if r.Block != "" {
		r.BlockHash = HashBlock(r.Turn, r.Block)
	}
	r.Block = ""
	r.Items = slices.Clone(r.Items)
	for i := range r.Items {
		r.Items[i] = leanItem(r.Items[i])
	}
	r.Cut = slices.Clone(r.Cut)
	for i := range r.Cut {
		r.Cut[i].Detail = store.Clean(r.Cut[i].Detail)
	}
	s := &r.Signals
	s.Question, s.Subject = "", ""
	for _, list := range []*[]string{&s.Keywords, &s.Symbols, &s.Failures, &s.Entities, &r.Degraded} {
		*list = cleaned(*list)
	}
	if r.Focal != nil {
		r.Focal = cleaned(r.Focal)
	}
	for _, text := range []*string{&r.Cause, &r.Project, &r.Agent, &r.Model, &r.Branch} {
		*text = store.Clean(*text)
	}
	r.At = r.At.Round(0).UTC()
	return r
}

// leanItem leaves out what a claim says. The heading and the source of a piece of
// the repository are those of the file.
func leanItem(it ken.Item) ken.Item {
	it.Text, it.Entities, it.Aspect = "", nil, ""
	if it.Kind != ken.KindDocument {
		it.Key, it.Source, it.Heading = "", "", ""
	}
	return it
}

// cleaned returns the strings that are still there once they were cleaned. It is
// never nil, since a receipt's lists are written as such.
func cleaned(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		if s = store.Clean(s); strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out
}
