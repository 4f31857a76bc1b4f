package jetstream_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/commitlog/jetstream"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
)

var opened atomic.Int32

func run(t *testing.T, n int) {
	c := logtest.StartNATS(t, n)
	logtest.Run(t, func(t *testing.T) (log, again commitlog.Log) {
		o := jetstream.Options{URL: c.URL(), Prefix: fmt.Sprintf("t%d", opened.Add(1))}
		var both [2]commitlog.Log
		for i := range both {
			l, err := jetstream.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			both[i] = l
		}
		return both[0], both[1]
	})
}

func TestOneServer(t *testing.T)    { run(t, 1) }
func TestThreeServers(t *testing.T) { run(t, 3) }
