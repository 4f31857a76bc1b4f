package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/run/session"
)

// noStore is the error of a command that needs the store where there is none; why
// was told when the chat started.
func noStore() error {
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "this chat works without knowledge", Try: "See what was said when it started, or run ken doctor."}
}

// remember keeps a text as a hot fact, on the user's own word: it is in every turn
// from the next one on.
func (c *conversation) remember(ctx context.Context, text string) error {
	if text == "" {
		return &ken.Error{Code: ken.CodeInvalid, Msg: "/remember is followed by what is to be remembered", Try: "/remember Deploys need a ticket."}
	}
	if !c.stored {
		return noStore()
	}
	s, release, err := c.layer.Store(ctx, c.a.owner)
	if err != nil {
		return err
	}
	defer release()
	h := c.layer.Session(c.who)
	h = h.Branch(h.About().Branch, session.BranchOptions{Actor: ken.Actor{Type: "user", ID: currentUser()}})
	said := ken.FromUserStatement(c.who.Session, "")
	id, err := h.Learn(ctx, text, []ken.Evidence{said}, session.WithKind(ken.KindHot), session.WithKey(memoryfile.Key(text)))
	if err != nil {
		return err
	}
	kept, err := s.Get(ctx, id)
	if err == nil && kept.Status == ken.StatusDisputed { // turned down once, and now said again
		if err = h.Verify(ctx, id, said); err == nil {
			kept, err = s.Get(ctx, id)
		}
	}
	switch {
	case err != nil:
		return err
	case kept.Status == ken.StatusSuperseded:
		return &ken.Error{Code: ken.CodeRefused, Msg: "that was replaced by claim " + kept.SupersededBy, Try: "See ken history " + kept.SupersededBy + "."}
	case kept.Text != text:
		fmt.Fprintln(c.a.err, "ken: what looked like a secret, a model's reasoning or a control character was taken out")
	}
	fmt.Fprintf(c.a.out, "Remembered: %s\n", printable(strings.Join(strings.Fields(kept.Text), " ")))
	if err := myDesk(c.layer, s).SyncMemory(ctx); err != nil {
		return fmt.Errorf("it is remembered, but not in %s: %w", memoryfile.Name, err)
	}
	return nil
}

// forget drops what the journal holds of this conversation, and begins another: in
// the next turn of this one, it would all be said again.
func (c *conversation) forget(ctx context.Context) error {
	if !c.stored {
		return noStore()
	}
	s, release, err := c.layer.Store(ctx, c.a.owner)
	if err != nil {
		return err
	}
	defer release()
	if err := forgetJournal(ctx, c.layer, s, c.who.Session); err != nil {
		return err
	}
	c.reset()
	fmt.Fprintln(c.a.out, "Nothing is learned from this conversation. A new one begins.")
	return nil
}
