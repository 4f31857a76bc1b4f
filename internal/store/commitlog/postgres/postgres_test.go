package postgres_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/store/commitlog/postgres"
)

var opened atomic.Int32

func TestLog(t *testing.T) {
	p := logtest.StartPostgres(t)
	logtest.Run(t, func(t *testing.T) (log, again commitlog.Log) {
		o := postgres.Options{URL: p.URL(), Schema: fmt.Sprintf("Test %d", opened.Add(1))}
		var both [2]commitlog.Log
		for i := range both {
			l, err := postgres.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			both[i] = l
		}
		return both[0], both[1]
	})
}
