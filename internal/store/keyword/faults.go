package keyword

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
)

// The engine persists in the background and reports trouble (a full disk, a
// panic) only to a callback that is named in a table of the engine's package,
// so the way from there to an Index has to be a table as well.
const faultCallback = "github.com/kenlayer/ken/internal/store/keyword"

// faults maps an index's folder to the *atomic.Pointer[error] of its Index.
var faults sync.Map

// retryPause slows the engine down, which retries a failed write at once and
// for ever. The callback runs in the retrying goroutine.
const retryPause = 100 * time.Millisecond

func init() {
	scorch.RegistryAsyncErrorCallbacks[faultCallback] = func(err error, dir string) {
		if fault, ok := faults.Load(dir); ok {
			fault.(*atomic.Pointer[error]).Store(&err)
		}
		time.Sleep(retryPause)
	}
	// The engine merges on a goroutine of its own, and recovers there: a file that has
	// become shorter is to be a panic, and not the end of the process.
	scorch.RegistryEventCallbacks[faultCallback] = func(e scorch.Event) bool {
		if e.Kind == scorch.EventKindPreMergeCheck {
			debug.SetPanicOnFault(true)
		}
		return true
	}
}
