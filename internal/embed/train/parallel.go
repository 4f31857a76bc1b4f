package train

import (
	"context"
	"sync"
	"sync/atomic"
)

// parallel calls f(0) … f(n-1) from some goroutines, each number once, until ctx
// ends. What f writes for a number must not depend on the others, so that the
// number of workers changes nothing.
func parallel(ctx context.Context, workers, n int, f func(i int)) error {
	if workers <= 1 || n <= 1 {
		for i := range n {
			if err := ctx.Err(); err != nil {
				return err
			}
			f(i)
		}
		return ctx.Err()
	}
	var next atomic.Int64
	work := func() {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			f(i)
		}
	}
	var wg sync.WaitGroup
	for range min(workers, n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return ctx.Err()
}
