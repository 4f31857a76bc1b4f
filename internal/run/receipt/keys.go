package receipt

import (
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

const (
	keyBook       = "receipt/book"
	prefixEntry   = "receipt/entry/"
	prefixUsed    = "receipt/used/"
	prefixTaint   = "receipt/taint/"
	prefixTurn    = "receipt/turn/"
	prefixSession = "receipt/session/"
)

func keyEntry(n uint64) string { return fmt.Sprintf("%s%016x", prefixEntry, n) }

// What is found out about a turn afterwards lies beside its receipt: see keep.
func keyUsed(n uint64) string  { return fmt.Sprintf("%s%016x", prefixUsed, n) }
func keyTaint(n uint64) string { return fmt.Sprintf("%s%016x", prefixTaint, n) }

// Ids are escaped, so that none reaches into another's keys.
func keyTurn(turn string) string  { return prefixTurn + url.PathEscape(turn) }
func allOf(session string) string { return prefixSession + url.PathEscape(session) + "/" }
func keyIn(session string, n uint64) string {
	return fmt.Sprintf("%s%016x", allOf(session), ^n)
}

// maxID bounds the ids of turns and sessions in bytes: escaped, they take three
// times as many, and a key on the shelf has 1,024.
const maxID = 256

func checkID(field, id string, must bool) error {
	fault := ""
	switch {
	case id == "" && must:
		fault = "empty"
	case len(id) > maxID:
		fault = fmt.Sprintf("%d bytes; at most %d", len(id), maxID)
	case store.Clean(id) != id || strings.ContainsAny(id, "\n\t"):
		fault = "it holds control characters, markup of a model or a credential"
	}
	if fault == "" {
		return nil
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: fault, Try: "Name the " + field + " by an opaque id, such as a UUID."}
}

// numberOf finds the receipt of a turn.
func numberOf(r store.ShelfReader, turn string) (n uint64, ok bool) {
	if checkID("turn", turn, true) != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(string(r.Get(keyTurn(turn))), 16, 64)
	return n, err == nil
}

// numbers yields the receipts below a number, newest first: those of a session, or
// all of them.
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
