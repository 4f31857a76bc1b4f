package receipt

import (
	"bytes"
	"cmp"
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

// Limits of a listing.
const (
	DefaultLimit = 50
	MaxLimit     = 500
)

// Query selects the receipts to list; the zero value lists the newest 50.
type Query struct {
	Session string // the receipts of one session; empty lists all
	// Before continues an earlier listing of the same session: it is the next that the
	// earlier call returned. Empty starts with the newest.
	Before string
	Limit  int // 0 or less means 50; the maximum is 500
}

// Get returns the receipt of a turn. Errors: ErrNotFound if there is none or it was
// deleted; ErrCorrupt.
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

// List returns receipts, newest first. next is the Query.Before of the following page,
// or "" at the end. Receipts stored meanwhile do not change the following pages.
// Receipts that can't be read are left out, and the error is an ErrCorrupt that names
// the first of them; the other receipts and next are valid. Errors: ErrInvalid for an
// invalid Before.
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
		var last uint64 // the last one returned or found unreadable
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
				last, bad = n, cmp.Or(bad, err)
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
			Try: "Give the cursor that the last listing returned, or none to begin with the newest."}
	}
	return n, nil
}

func notFound(turn string) error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "turn", Msg: "no receipt of turn " + strconv.Quote(turn),
		Try: "List them: only the newest are kept, and those of forgotten sessions are gone."}
}

// numberRange is the range of receipt numbers in use. Some receipts in it may be
// missing: those of forgotten sessions.
type numberRange struct {
	First uint64    `json:"first"` // the oldest; above Last when there are none
	Last  uint64    `json:"last"`  // the newest; never reused
	At    time.Time `json:"at"`    // when the oldest was stored, or earlier
}

// maxSpan limits the range of numbers in use, so that a corrupt range does not cause an
// endless search.
const maxSpan = 1 << 24

// readPages reads the range of numbers. If the stored range can't be read, it is
// computed from the entries.
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

func (p *numberRange) write(tx store.ShelfTx) error { return putAnnotation(tx, keyBook, p) }

// Record is the receipt of one turn as it is stored, with what is known of the turn.
// Block is empty. Key, Source, Heading and Text are empty for every item that is a
// claim: they are read from the claim, which may have changed or be gone.
type Record struct {
	ken.Receipt
	Project string `json:"project,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Model   string `json:"model,omitempty"`
	Branch  string `json:"branch,omitempty"`
	// Key is the name of the gateway's key that sent the request; "" without keys.
	Key string `json:"key,omitempty"`

	// Context counts what the model read, in code points, by source; nil for receipts of
	// versions before this count.
	Context *telemetry.Breakdown `json:"context_chars_breakdown,omitempty"`
	// Through is the session.Entry.Seq of the last message of the request; 0 if the
	// journal has none of the request's messages, and for receipts of versions before
	// this field.
	Through uint64 `json:"through,omitempty"`
	// BlockHash identifies the block: see HashBlock. It is empty without a block and for
	// receipts of versions before this field. It is also removed when a claim of the
	// block is forgotten, because it could confirm a guess at the claim's text.
	BlockHash string `json:"block_hash,omitempty"`
}

// HashBlock returns "sha256:" and the hex hash of the turn's id and block; "" for no
// block. The turn's id is part of it so that equal blocks of two turns have different
// hashes.
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

// lean returns the part of a record that may be stored. It shares with r only what
// neither changes.
func (r Record) lean() Record {
	if r.Block != "" {
		r.BlockHash = HashBlock(r.Turn, r.Block)
	}
	r.Block = ""
	r.Items = slices.Clone(r.Items)
	for i := range r.Items {
		r.Items[i] = leanItem(r.Items[i])
	}
	shared := true // with the receipt of the turn
	for i := range r.Cut {
		detail := clean.Text(r.Cut[i].Detail)
		if detail == r.Cut[i].Detail {
			continue
		}
		if shared {
			r.Cut, shared = slices.Clone(r.Cut), false
		}
		r.Cut[i].Detail = detail
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

// leanItem removes a claim's text. The heading and source of a piece of the repository
// stay, because they belong to the file.
func leanItem(it ken.Item) ken.Item {
	it.Text, it.Entities, it.Aspect = "", nil, ""
	if it.Kind != ken.KindDocument {
		it.Key, it.Source, it.Heading = "", "", ""
	}
	return it
}

// cleaned returns the cleaned strings without those that are empty then. It never
// returns nil, because receipts are written with empty lists.
func cleaned(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		if s = clean.Text(s); strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out
}
