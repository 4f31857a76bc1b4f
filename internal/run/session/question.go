package session

import (
	"cmp"
	"context"

	"github.com/kenlayer/ken/store"
)

// Place says where the request of a turn ended: a session, and the Entry.Seq of the request's last
// message. A receipt has both.
type Place struct {
	Session string
	Through uint64
}

// Exchange is the question and the answer of a turn. An entry is nil if the journal does not have
// it.
type Exchange struct {
	Question *Entry // the last user message of the request, before the results of tools
	Answer   *Entry // the model's message after the request
}

// questionReach is how many tool messages Exchanges reads back over to find the user's message.
const questionReach = 400

// Exchanges returns for each place the exchange of its turn. It takes two small reads for each
// place, and one more for each tool message at the end of the request. With an ErrCorrupt it
// returns those that can be read.
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
		if e == nil { // numbers have gaps where messages were deleted
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

// entryAt returns the message of a number, or nil if there is none.
func entryAt(r store.ShelfReader, id string, seq uint64) (*Entry, error) {
	row, err := get[message](r, keyMessage(id, seq))
	if err != nil || row == nil {
		return nil, err
	}
	e := row.entry(seq)
	return &e, nil
}
