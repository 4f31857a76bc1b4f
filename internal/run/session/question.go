package session

import (
	"cmp"
	"context"

	"github.com/kenlayer/ken/store"
)

// Place is where the request of a turn ended: a session, and the last message of the request by
// Entry.Seq. A receipt has both.
type Place struct {
	Session string
	Through uint64
}

// Exchange is what a turn was asked, and what was answered. A nil entry is not in the journal:
// nobody kept it, or it is gone.
type Exchange struct {
	Question *Entry // the user's message that the request ended with, before the results of tools
	Answer   *Entry // the model's message after the request
}

// questionReach is how many messages of tools Exchanges goes back over to find the user's.
const questionReach = 400

// Exchanges returns for each place the exchange of its turn. The cost is two small reads for each
// place, and one more for each message of a tool at the end of the request. With an ErrCorrupt come
// those that can be read.
func (j *Journal) Exchanges(ctx context.Context, places []Place) ([]Exchange, error) {
	out := make([]Exchange, len(places))
	err := j.shelf.View(ctx, func(r store.ShelfReader) (bad error) {
		for i, p := range places {
			if err := ctx.Err(); err != nil {
				return err
			}
			if p.Session == "" || p.Through == 0 {
				continue
			}
			x, err := exchangeAt(r, p)
			out[i], bad = x, cmp.Or(bad, err)
		}
		return bad
	})
	return out, err
}

func exchangeAt(r store.ShelfReader, p Place) (x Exchange, err error) {
	least := p.Through - min(p.Through-1, questionReach)
	for seq := p.Through; seq >= least && x.Question == nil; seq-- {
		e, err := entryAt(r, p.Session, seq)
		if err != nil {
			return x, err
		}
		if e == nil { // numbers have gaps only where messages were deleted
			break
		}
		if e.Message.Role == "user" {
			x.Question = e
		}
	}
	if e, err := entryAt(r, p.Session, p.Through+1); err != nil {
		return x, err
	} else if e != nil && e.Message.Role == "assistant" {
		x.Answer = e
	}
	return x, nil
}

// entryAt returns a message by its number; nil if there is none.
func entryAt(r store.ShelfReader, id string, seq uint64) (*Entry, error) {
	key := keyMessage(id, seq)
	b := r.Get(key)
	if b == nil {
		return nil, nil
	}
	var row message
	if err := decodeValue(key, b, &row); err != nil {
		return nil, err
	}
	e := row.entry(seq)
	return &e, nil
}
