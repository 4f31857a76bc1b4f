package receipt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/store"
)

// entryHead is the first line of a stored entry. It has what is needed to delete the entry or
// to replace it by the receipt of a later request.
type entryHead struct {
	Turn    string    `json:"turn"`
	Session string    `json:"session,omitempty"`
	At      time.Time `json:"at"`
	Through uint64    `json:"through,omitempty"`
	Apart   bool      `json:"apart,omitempty"` // what was found out later is stored beside the entry
	Lists   int       `json:"lists,omitempty"` // format of the long lists behind the record; 0 when the record itself has them
}

// listsForm is the version of the format in which coder writes the long lists.
const listsForm = 1

// encoded holds buffers for encode. They can be reused because the shelf copies what it is
// given.
var encoded = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// encode returns an encoded entry. The result is valid until b is used again.
func encode(b *bytes.Buffer, rec *Record) ([]byte, error) {
	e := json.NewEncoder(b) // Encode ends each value with a newline
	if err := e.Encode(entryHead{rec.Turn, rec.Session, rec.At, rec.Through, true, listsForm}); err != nil {
		return nil, err
	}
	body := *rec
	body.Items, body.Cut = nil, nil
	if rec.Ranking != nil {
		bare := *rec.Ranking
		bare.Candidates = nil
		body.Ranking = &bare
	}
	if err := e.Encode(&body); err != nil {
		return nil, err
	}
	c := coder{b: b.AvailableBuffer()}
	c.lists(rec)
	if c.err != nil {
		return nil, c.err
	}
	b.Write(c.b)
	return b.Bytes(), nil
}

// decodeHead reads an entry's head. It does not retain b.
func decodeHead(n uint64, b []byte) (entryHead, error) {
	var h entryHead
	line, _, ok := bytes.Cut(b, []byte{'\n'})
	if !ok {
		return h, corrupt(n, errors.New("it has no first line"))
	}
	if err := json.Unmarshal(line, &h); err != nil {
		return h, corrupt(n, err)
	}
	if err := cmp.Or(checkID("turn", h.Turn, true), checkID("session", h.Session, false)); err != nil {
		return h, corrupt(n, err)
	}
	return h, nil
}

// decode reads an entry. It does not retain b.
func decode(n uint64, b []byte) (*Record, error) {
	h, err := decodeHead(n, b)
	if err != nil {
		return nil, err
	}
	_, body, _ := bytes.Cut(b, []byte{'\n'})
	var lists []byte
	if h.Lists > 0 {
		body, lists, _ = bytes.Cut(body, []byte{'\n'})
	}
	rec := &Record{}
	if err := json.Unmarshal(body, rec); err != nil {
		return nil, corrupt(n, err)
	}
	if h.Lists > 0 {
		c := coder{reads: true, b: lists}
		if c.lists(rec); c.err == nil && len(c.b) > 0 || h.Lists != listsForm {
			c.fail(errLists)
		}
		if c.err != nil {
			return nil, corrupt(n, c.err)
		}
	}
	if rec.Turn != h.Turn || rec.Session != h.Session {
		return nil, corrupt(n, fmt.Errorf("it says that it is of turn %q, session %q", rec.Turn, rec.Session))
	}
	return rec, nil
}

// load reads a receipt and what was found out about it later. It returns nil if there is no
// receipt of that number.
func load(r store.ShelfReader, n uint64) (*Record, error) {
	b := r.Get(keyEntry(n))
	if b == nil {
		return nil, nil
	}
	rec, err := decode(n, b)
	if err != nil {
		return nil, err
	}
	marks, err := marksOf(r, n)
	if err != nil {
		return nil, err
	}
	if len(marks) > 0 {
		rec.Taint = union(rec.Taint, marks)
	}
	if b := r.Get(keyUsed(n)); b != nil {
		rec.Used = nil
		if err := json.Unmarshal(b, &rec.Used); err != nil {
			return nil, corrupt(n, err)
		}
	}
	return rec, nil
}

// marksOf reads the marks stored beside a receipt.
func marksOf(r store.ShelfReader, n uint64) (marks []ken.Taint, err error) {
	if b := r.Get(keyTaint(n)); b != nil {
		if err := json.Unmarshal(b, &marks); err != nil {
			return nil, corrupt(n, err)
		}
	}
	return marks, nil
}

// headOf reads the head of a receipt. It returns nil if there is no receipt of that number.
func headOf(r store.ShelfReader, n uint64) (*entryHead, error) {
	b := r.Get(keyEntry(n))
	if b == nil {
		return nil, nil
	}
	h, err := decodeHead(n, b)
	return &h, err
}

func corrupt(n uint64, err error) error {
	return &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("receipt %d can't be read", n), Err: err,
		Try: "Restore the store from a backup, or continue without it. It was not changed."}
}

const (
	keyBook       = "receipt/book"
	prefixEntry   = "receipt/entry/"
	prefixUsed    = "receipt/used/"
	prefixTaint   = "receipt/taint/"
	prefixTurn    = "receipt/turn/"
	prefixSession = "receipt/session/"
)

func keyEntry(n uint64) string { return fmt.Sprintf("%s%016x", prefixEntry, n) }

// Data found out after the turn is stored beside its receipt: see keep.
func keyUsed(n uint64) string  { return fmt.Sprintf("%s%016x", prefixUsed, n) }
func keyTaint(n uint64) string { return fmt.Sprintf("%s%016x", prefixTaint, n) }

// Ids are escaped, so that no id can form another id's key.
func keyTurn(turn string) string  { return prefixTurn + url.PathEscape(turn) }
func allOf(session string) string { return prefixSession + url.PathEscape(session) + "/" }
func keyIn(session string, n uint64) string {
	return fmt.Sprintf("%s%016x", allOf(session), ^n)
}

func checkID(field, id string, must bool) error {
	if id == "" && !must {
		return nil
	}
	return clean.CheckID(field, id)
}

// numberOf returns the number of a turn's receipt.
func numberOf(r store.ShelfReader, turn string) (n uint64, ok bool) {
	if checkID("turn", turn, true) != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(string(r.Get(keyTurn(turn))), 16, 64)
	return n, err == nil
}

// numbers yields the numbers of the receipts below before, newest first: those of a session,
// or all if session is empty.
func numbers(r store.ShelfReader, session string, before uint64) iter.Seq[uint64] {
	if session == "" {
		return func(yield func(uint64) bool) {
			p := readPages(r)
			if p.Last == 0 || before <= 1 {
				return
			}
			for n := min(p.Last, before-1); n >= p.First && n > 0; n-- {
				if !yield(n) {
					return
				}
			}
		}
	}
	return func(yield func(uint64) bool) {
		if checkID("session", session, true) != nil {
			return
		}
		prefix := allOf(session)
		for key := range r.Scan(prefix) {
			inverted, err := strconv.ParseUint(key[len(prefix):], 16, 64)
			if n := ^inverted; err == nil && n < before && !yield(n) {
				return
			}
		}
	}
}
