package console

import (
	"context"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// asking is a visit that requests data which is computed in the background.
func asking(t *testing.T, c *Console) *visit {
	return &visit{con: c, w: httptest.NewRecorder(), r: httptest.NewRequestWithContext(t.Context(), get, Prefix, nil)}
}

func behindConsole(t *testing.T) *Console {
	c := &Console{opts: Options{Now: time.Now, Patience: defaultPatience}}
	c.stop, c.cancel = context.WithCancel(context.Background())
	t.Cleanup(func() {
		c.cancel()
		c.background.close()
	})
	return c
}

// What takes long is there the next time; a page does not wait for it.
func TestBehindDoesNotHoldUpAPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := behindConsole(t)
		var b backgroundCache[string, int]
		n := 0
		find := func(_ context.Context, before *int) *int {
			time.Sleep(time.Second)
			if n++; before != nil && *before != n-1 {
				t.Errorf("it was %d before the %d. time", *before, n)
			}
			found := n
			return &found
		}
		v := asking(t, c)
		begun := time.Now()
		if got := b.get(v, "k", alwaysStale, find); got != nil || !v.refresh || time.Since(begun) != defaultPatience*3/2 {
			t.Errorf("at first: %v, again %t, after %s", got, v.refresh, time.Since(begun))
		}
		time.Sleep(time.Second)
		v = asking(t, c)
		if got := b.get(v, "k", newerThan[int](c, time.Minute), find); got == nil || *got != 1 || v.refresh {
			t.Errorf("a second later: %v, again %t", got, v.refresh)
		}
		time.Sleep(2 * time.Minute)
		v = asking(t, c)
		begun = time.Now()
		if got := b.get(v, "k", newerThan[int](c, time.Minute), find); got == nil || *got != 1 || !v.refresh || time.Since(begun) != defaultPatience {
			t.Errorf("when it is old: %v, again %t, after %s", got, v.refresh, time.Since(begun))
		}
		time.Sleep(2 * time.Second)
		if got := b.get(asking(t, c), "k", newerThan[int](c, time.Minute), find); got == nil || *got != 2 {
			t.Errorf("after that: %v", got)
		}
	})
}

// A finding that is under way may have passed what was written since: another one
// follows it, one for all who ask meanwhile.
func TestBehindFindsWhatWasWrittenBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := behindConsole(t)
		var b backgroundCache[string, int]
		var written, times atomic.Int64
		written.Store(1)
		find := func(context.Context, *int) *int {
			found := int(written.Load())
			times.Add(1)
			time.Sleep(time.Second)
			return &found
		}
		b.get(asking(t, c), "k", alwaysStale, find)
		written.Store(2)
		for range 5 {
			b.get(asking(t, c), "k", alwaysStale, find)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := b.by["k"]; *got.value != 2 || times.Load() != 2 {
			t.Errorf("found %d, by %d findings; want 2 by 2", *got.value, times.Load())
		}
	})
}

// What a change has made old is found anew, even where it looks good, and by nothing that
// began before the change.
func TestBehindForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := behindConsole(t)
		var b backgroundCache[string, int]
		var value atomic.Int64
		value.Store(1)
		find := func(context.Context, *int) *int {
			found := int(value.Load())
			time.Sleep(time.Second)
			return &found
		}
		good := newerThan[int](c, time.Hour)
		b.get(asking(t, c), "k", good, find) // is under way
		value.Store(2)
		b.invalidate("k")
		if got := b.getWithin(asking(t, c), "k", good, find, time.Minute); got == nil || *got != 2 {
			t.Errorf("after the change: %v", got)
		}
		if got := b.get(asking(t, c), "k", good, find); got == nil || *got != 2 {
			t.Errorf("and from then on: %v", got)
		}
	})
}

// After the end nothing begins, and no visit waits for it longer than a moment.
func TestBehindAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := behindConsole(t)
		c.cancel()
		c.background.close()
		var b backgroundCache[string, int]
		if got := b.get(asking(t, c), "k", alwaysStale, func(context.Context, *int) *int { t.Error("it is looked for"); return nil }); got != nil {
			t.Errorf("%v", got)
		}
	})
}
