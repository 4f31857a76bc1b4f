package codebase

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A file that is written all the time is reported while that goes on.
func TestWatchReportsABusyFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		f := watcher{c: &Codebase{o: Options{Root: root}}, w: &fsnotify.Watcher{Events: make(chan fsnotify.Event), Errors: make(chan error)},
			folders: map[string]bool{}, pending: map[string]bool{}}
		ctx, stop := context.WithCancel(t.Context())
		reports := 0
		ended := make(chan error)
		go func() { ended <- f.run(ctx, func([]string) { reports++ }) }()
		for range 200 {
			f.w.Events <- fsnotify.Event{Name: filepath.Join(root, "a.go"), Op: fsnotify.Write}
			<-time.After(quietPeriod / 3)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if want := int(200 * quietPeriod / 3 / maxWait); reports < want {
			t.Errorf("%d reports in %s, want %d", reports, 200*quietPeriod/3, want)
		}
	})
}
