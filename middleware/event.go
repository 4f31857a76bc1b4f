package middleware

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/shared"
)

// onEvent is Options.OnEvent for this layer; nil for none.
func (l *Layer) onEvent() func(context.Context, string, []byte) ([]byte, error) {
	if l.o.OnEvent == nil {
		return nil
	}
	return func(ctx context.Context, owner string, body []byte) ([]byte, error) {
		return l.o.OnEvent(ctx, l, owner, body)
	}
}

// SendEvent has the process that holds an owner's store in the project in root answer an event,
// if its layer has Options.OnEvent. Nothing is opened here, so it takes a few milliseconds. taken
// is false if no process answers; then nothing was done. c is the project's configuration, and
// an empty owner means the configured one.
func SendEvent(ctx context.Context, root string, c config.Config, owner string, body []byte) (answer []byte, taken bool, err error) {
	owner = cmp.Or(owner, c.Knowledge.Owner)
	return shared.SendEvent(ctx, filepath.Join(c.State(root), bolt.FolderName(owner)), owner, body)
}
