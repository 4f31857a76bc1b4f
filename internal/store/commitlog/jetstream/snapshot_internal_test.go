package jetstream

import (
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken/internal/store/commitlog"
)

// silent is a reader of a snapshot whose servers send nothing.
type silent struct{ every time.Duration }

func (s silent) Read([]byte) (int, error) { <-time.After(s.every); return 0, os.ErrDeadlineExceeded }
func (silent) Close() error               { return nil }

// TestASnapshotThatStops checks that a snapshot's reader fails when the servers send no more bytes,
// and that another server is tried.
func TestASnapshotThatStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, begun := 0, time.Now()
		r := &snapshotReader{r: silent{readSilence}, log: &Log{leave: func() { left++ }}, end: func() {}}
		_, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); !errors.Is(err, commitlog.ErrUnreachable) || left != 1 || time.Since(begun) > 4*readSilence {
			t.Errorf("%v after %v, left %d times", err, time.Since(begun), left)
		}
	})
}
