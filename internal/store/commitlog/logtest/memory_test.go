package logtest

import (
	"testing"

	"github.com/kenlayer/ken/internal/store/commitlog"
)

func TestMemory(t *testing.T) {
	Run(t, func(t *testing.T) (log, again commitlog.Log) {
		m := NewMemory()
		return m, m.Join()
	})
}
