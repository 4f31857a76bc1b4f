package receipt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/telemetry"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/store"
)

// Bounds of a listing.
const (
	DefaultLimit = 50
	MaxLimit     = 500
)

// Query says which receipts to list; the zero value lists the newest 50.
type Query struct {
	Session string // those of one session; empty lists all
	// Before goes on where an earlier listing of the same session ended: it is what
	// that one returned as next. Empty starts with the newest.
	Before string
	Limit  int // 0 and less is 50, and 500 is the most
}

// Get returns the receipt of a turn. Errors: ErrNotFound for a turn that has none,
// or none any more; ErrCorrupt.
func (b *Book) Get(ctx context.Context, turn string) (Record, error) {
	var out Record
	err := b.shelf.View(ctx, func(r store.ShelfReader) error {
		n, ok := numberOf(r, turn)
		if !ok {
			return notFound(turn)
		}
		rec, err := load(r, n)
		if err != nil {
			return err
		}
		if rec == nil || rec.Turn != turn {
			return notFound(turn)
		}
		out = *rec
		return nil
	})
	return out, err
}

// List returns receipts in the order in which they were kept, newest first, and
// what Query.Before has to be for those that follow; "" when there are none. What
// was kept since does not change what follows. Those that can't be read are left
// out, and come with an ErrCorrupt that names the first of them; the others and
// next are good all the same. Errors: ErrInvalid for a Before that is none.
func (b *Book) List(ctx context.Context, q Query) (out []Record, next string, err error) {
	before := ^uint64(0)
	if q.Before != "" {
		if before, err = parseCursor(q.Before); err != nil {
			return nil, "", err
		}
	}
	limit := DefaultLimit
	if q.Limit > 0 {
		limit = min(q.Limit, MaxLimit)
	}
	var bad error
	err = b.shelf.View(ctx, func(r store.ShelfReader) error {
		out, next, bad = nil, "", nil
		var last uint64 // that was returned, or can't be read
		for n := range numbers(r, q.Session, before) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if len(out) == limit {
				next = strconv.FormatUint(last, 16)
				return nil
			}
			rec, err := load(r, n)
			switch {
			case errors.Is(err, ken.ErrCorrupt):
				if last = n; bad == nil {
					bad = err
				}
			case err != nil:
				return err
			case rec != nil && (q.Session == "" || rec.Session == q.Session):
				out, last = append(out, *rec), n
			}
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return out, next, bad
}

func parseCursor(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil || strconv.FormatUint(n, 16) != s {
		return 0, &ken.Error{Code: ken.CodeInvalid, Field: "before", Msg: "not the cursor of a listing of receipts",
			Try: "Give what the last listing returned, or leave it out to begin with the newest."}
	}
	return n, nil
}

func notFound(turn string) error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "turn", Msg: "no receipt of turn " + strconv.Quote(turn),
		Try: "List them: only the newest are kept, and those of forgotten sessions are gone."}
}

// numberRange is which receipts there may be. Some of them may be gone: those of
// forgotten sessions.
type numberRange struct {
	First uint64    `json:"first"` // the oldest; above Last when there is none
	Last  uint64    `json:"last"`  // the newest, never given out again
	At    time.Time `json:"at"`    // of the oldest, or before it
}

// maxSpan bounds the numbers that can be in use, so that a note that went bad does
// not have anybody look for receipts without end.
const maxSpan = 1 << 24

// readPages reads the numbers, or finds them again when the note of them can't be
// read: the entries say the same.
func readPages(r store.ShelfReader) numberRange {
	b := r.Get(keyBook)
	if b == nil {
		return numberRange{First: 1}
	}
	var p numberRange
	if json.Unmarshal(b, &p) == nil && p.First > 0 && p.Last+1-p.First <= maxSpan {
		return p
	}
	p = numberRange{First: 1}
	for key := range r.Scan(prefixEntry) {
		if n, err := strconv.ParseUint(key[len(prefixEntry):], 16, 64); err == nil {
			if p.Last == 0 {
				p.First = n
			}
			p.Last = n
		}
	}
	return p
}

func (p *numberRange) write(tx store.ShelfTx) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return tx.Put(keyBook, b)
}

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
	// Key is the name of the gateway's key that asked; "" where there were none.
	Key string `json:"key,omitempty"`

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
	b := encoded.Get().(*bytes.Buffer)
	defer encoded.Put(b)
	b.Reset()
	b.WriteString(turn)
	b.WriteByte(0)
	b.WriteString(block)
	sum := sha256.Sum256(b.Bytes())
	return "sha256:" + hex.EncodeToString(sum[:])
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
	if slices.ContainsFunc(r.Cut, func(c ken.Cut) bool { return c.Detail != "" }) {
		r.Cut = slices.Clone(r.Cut)
		for i := range r.Cut {
			r.Cut[i].Detail = clean.Text(r.Cut[i].Detail)
		}
	}
	s := &r.Signals
	s.Question, s.Subject = "", ""
	for _, list := range []*[]string{&s.Keywords, &s.Symbols, &s.Failures, &s.Entities, &r.Degraded} {
		*list = cleaned(*list)
	}
	if r.Focal != nil {
		r.Focal = cleaned(r.Focal)
	}
	for _, text := range []*string{&r.Cause, &r.Project, &r.Agent, &r.Model, &r.Branch, &r.Key} {
		*text = clean.Text(*text)
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
		if s = clean.Text(s); strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out
}
