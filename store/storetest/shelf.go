package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Shelf tests the shelves that open returns against the contract of store.Shelf. Each
// call to open must return a new, empty one, and close it with t.Cleanup.
func Shelf(t *testing.T, open func(t *testing.T) store.Shelf) {
	tests := []struct {
		name string
		run  func(k *shelfKit)
	}{
		{"what was put is there until it is deleted", shelfPutGetDelete},
		{"a scan is in byte order", shelfScanOrder},
		{"a prefix takes what starts with it and nothing else", shelfPrefixes},
		{"a scan stops where its reader stops", shelfScanStops},
		{"a scan survives writes beside it", shelfWritesWhileScanning},
		{"an update sees its own writes", shelfOwnWrites},
		{"an error leaves no trace", shelfRollback},
		{"a panic leaves no trace and no lock", shelfPanic},
		{"a view is a snapshot", shelfSnapshot},
		{"no update is lost", shelfCounter},
		{"what fails among others fails alone", shelfAlone},
		{"an update ends with its goroutine", shelfGoexit},
		{"one that gives up while it waits changes nothing", shelfGivesUp},
		{"readers never see half an update", shelfAtomicity},
		{"large values", shelfLargeValues},
		{"key limits", shelfKeyLimits},
		{"values share no memory with the caller", shelfAliasing},
		{"an ended context changes nothing", shelfCancelled},
		{"a reader that outlives its function panics", shelfOutlived},
		{"it behaves like a sorted map", shelfModel},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(&shelfKit{test{t, t.Context()}, open(t)}) })
	}
}

// shelfKit is a test with an empty shelf.
type shelfKit struct {
	test
	s store.Shelf
}

func (k *shelfKit) update(fn func(tx store.ShelfTx)) {
	k.Helper()
	k.must(k.s.Update(k.ctx, func(tx store.ShelfTx) error { fn(tx); return nil }))
}

func (k *shelfKit) view(fn func(r store.ShelfReader)) {
	k.Helper()
	k.must(k.s.View(k.ctx, func(r store.ShelfReader) error { fn(r); return nil }))
}

func (k *shelfKit) put(tx store.ShelfTx, key, value string) {
	k.Helper()
	k.must(tx.Put(key, []byte(value)))
}

func (k *shelfKit) delete(tx store.ShelfTx, key string) {
	k.Helper()
	k.must(tx.Delete(key))
}

// panics checks that a call panics.
func (k *shelfKit) panics(name string, call func()) {
	k.Helper()
	defer func() {
		if recover() == nil {
			k.Errorf("%s did not panic", name)
		}
	}()
	call()
}

// fill puts keys, each with its name as the value.
func (k *shelfKit) fill(keys ...string) {
	k.Helper()
	k.update(func(tx store.ShelfTx) {
		for _, key := range keys {
			k.put(tx, key, key)
		}
	})
}

// get reads one key in a view of its own.
func (k *shelfKit) get(key string) (value string, there bool) {
	k.Helper()
	k.view(func(r store.ShelfReader) {
		b := r.Get(key)
		value, there = string(b), b != nil
	})
	return value, there
}

// keys scans in a view of its own.
func (k *shelfKit) keys(prefix string) (out []string) {
	k.Helper()
	k.view(func(r store.ShelfReader) { out = scan(r, prefix) })
	return out
}

func (k *shelfKit) want(prefix string, want ...string) {
	k.Helper()
	if got := k.keys(prefix); !slices.Equal(got, want) {
		k.Errorf("under %q there is %q, want %q", prefix, got, want)
	}
}

func scan(r store.ShelfReader, prefix string) (keys []string) {
	for key := range r.Scan(prefix) {
		keys = append(keys, key)
	}
	return keys
}

func shelfPutGetDelete(k *shelfKit) {
	if v, there := k.get("a"); there {
		k.Errorf("an empty shelf has %q", v)
	}
	k.update(func(tx store.ShelfTx) {
		k.put(tx, "a", "first")
		k.put(tx, "empty", "")
		if err := tx.Put("nil", nil); err != nil {
			k.Error(err)
		}
		for _, key := range []string{"empty", "nil"} {
			if b := tx.Get(key); b == nil || len(b) > 0 {
				k.Errorf("%s reads %v within its update, want empty and not nil", key, b)
			}
		}
	})
	for key, want := range map[string]string{"a": "first", "empty": "", "nil": ""} {
		if v, there := k.get(key); !there || v != want {
			k.Errorf("%s reads %q, %v", key, v, there)
		}
	}
	k.update(func(tx store.ShelfTx) { k.put(tx, "a", "second") })
	if v, _ := k.get("a"); v != "second" {
		k.Errorf("a reads %q", v)
	}
	k.update(func(tx store.ShelfTx) {
		k.delete(tx, "a")
		k.delete(tx, "a")
		k.delete(tx, "never")
		k.delete(tx, "")
	})
	k.want("", "empty", "nil")
	k.update(func(tx store.ShelfTx) { k.delete(tx, "empty"); k.delete(tx, "nil"); k.delete(tx, "") })
	k.want("")
	k.fill("a")
	k.want("", "a")
}

func shelfOwnWrites(k *shelfKit) {
	k.fill("a", "b", "c")
	k.update(func(tx store.ShelfTx) {
		k.delete(tx, "b")
		k.put(tx, "ab", "new")
		k.put(tx, "a", "changed")
		if got := scan(tx, ""); !slices.Equal(got, []string{"a", "ab", "c"}) {
			k.Errorf("it sees %q", got)
		}
		if b := tx.Get("b"); b != nil {
			k.Errorf("a deleted key reads %q", b)
		}
		if got := string(tx.Get("a")); got != "changed" {
			k.Errorf("a changed key reads %q", got)
		}
	})
}

func shelfRollback(k *shelfKit) {
	k.fill("a", "b")
	mine := errors.New("changed my mind")
	err := k.s.Update(k.ctx, func(tx store.ShelfTx) error {
		k.put(tx, "a", "changed")
		k.put(tx, "c", "new")
		k.delete(tx, "b")
		return mine
	})
	if err != mine { //nolint:errorlint // nobody may wrap it
		k.Errorf("update returns %v, want the function's own error", err)
	}
	k.want("", "a", "b")
	if v, _ := k.get("a"); v != "a" {
		k.Errorf("a reads %q", v)
	}
	if err := k.s.View(k.ctx, func(store.ShelfReader) error { return mine }); err != mine { //nolint:errorlint // nobody may wrap it
		k.Errorf("view returns %v, want the function's own error", err)
	}
}

func shelfPanic(k *shelfKit) {
	k.fill("a")
	k.panics("the update", func() {
		_ = k.s.Update(k.ctx, func(tx store.ShelfTx) error {
			k.put(tx, "b", "half")
			panic("in the middle")
		})
	})
	k.want("", "a")
	k.fill("c")
	k.want("", "a", "c")
}

func shelfKeyLimits(k *shelfKit) {
	longest := strings.Repeat("k", store.MaxShelfKey)
	k.fill(longest, "\x00", "\xff\xff", "a\x00b", "日本")
	k.want("", "\x00", "a\x00b", longest, "日本", "\xff\xff")
	for _, key := range []string{"", longest + "k"} {
		err := k.s.Update(k.ctx, func(tx store.ShelfTx) error {
			k.put(tx, "beside", "it")
			return tx.Put(key, []byte("x"))
		})
		var e *ken.Error
		if !errors.As(err, &e) || e.Code != ken.CodeInvalid || e.Field != "key" {
			k.Errorf("a key of %d bytes: %v", len(key), err)
		}
		if v, there := k.get(key); there {
			k.Errorf("a key of %d bytes reads %q", len(key), v)
		}
	}
	if _, there := k.get("beside"); there {
		k.Error("an update with a refused key left something")
	}
}

func shelfLargeValues(k *shelfKit) {
	large := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB
	k.update(func(tx store.ShelfTx) {
		k.put(tx, "large", large)
		k.put(tx, "small", "x")
	})
	if v, _ := k.get("large"); v != large {
		k.Errorf("%d bytes came back as %d", len(large), len(v))
	}
	k.update(func(tx store.ShelfTx) { k.put(tx, "large", "little") })
	if v, _ := k.get("large"); v != "little" {
		k.Errorf("it reads %.40q", v)
	}
	var many []string
	for i := range 3000 {
		many = append(many, fmt.Sprintf("many/%05d", i))
	}
	k.fill(many...)
	k.want("many/", many...)
}

func shelfAliasing(k *shelfKit) {
	mine := []byte("mine")
	k.update(func(tx store.ShelfTx) {
		k.must(tx.Put("a", mine))
		copy(mine, "XXXX")
		if got := string(tx.Get("a")); got != "mine" {
			k.Errorf("within the update it reads %q", got)
		}
	})
	copy(mine, "YYYY")
	if v, _ := k.get("a"); v != "mine" {
		k.Errorf("it reads %q", v)
	}
}

func shelfCancelled(k *shelfKit) {
	k.fill("a")
	over := ended(k.ctx)
	ran := false
	err := k.s.Update(over, func(tx store.ShelfTx) error { ran = true; return tx.Put("b", nil) })
	if !errors.Is(err, context.Canceled) || ran {
		k.Errorf("update: %v, ran %v", err, ran)
	}
	err = k.s.View(over, func(store.ShelfReader) error { ran = true; return nil })
	if !errors.Is(err, context.Canceled) || ran {
		k.Errorf("view: %v, ran %v", err, ran)
	}
	k.want("", "a")
}

// Memory of an unmapped file can't be read: a panic that names the mistake is better
// than a memory fault.
func shelfOutlived(k *shelfKit) {
	k.fill("a")
	var reader store.ShelfReader
	var tx store.ShelfTx
	k.update(func(t store.ShelfTx) { tx = t })
	k.view(func(r store.ShelfReader) { reader = r })
	for name, call := range map[string]func(){
		"Get":    func() { reader.Get("a") },
		"Scan":   func() { scan(reader, "") },
		"Put":    func() { _ = tx.Put("b", nil) },
		"Delete": func() { _ = tx.Delete("a") },
	} {
		k.panics(name, call)
	}
	k.want("", "a")
}

var errAlone = errors.New("this one fails")

// Updates of several callers may share a transaction. Each one sees the changes of
// earlier updates, and none of those that failed or panicked.
func shelfAlone(k *shelfKit) {
	const each = 12
	together(func(w int) {
		for i := range each {
			key := fmt.Sprintf("by/%d/%02d", w, i)
			func() {
				defer func() {
					if r := recover(); (r != nil) != (w%3 == 2) {
						k.Errorf("writer %d: panic %v", w, r)
					}
				}()
				err := k.s.Update(k.ctx, func(tx store.ShelfTx) error {
					if got := scan(tx, "failed/"); len(got) > 0 {
						k.Errorf("it sees what failed: %q", got)
					}
					if i > 0 && w%3 == 0 && tx.Get(fmt.Sprintf("by/%d/%02d", w, i-1)) == nil {
						k.Errorf("it does not see its caller's last update")
					}
					if w%3 == 0 {
						return tx.Put(key, nil)
					}
					if err := tx.Put("failed/"+key, nil); err != nil {
						return err
					}
					for seen := range tx.Scan("by/") {
						if err := tx.Delete(seen); err != nil {
							return err
						}
						break
					}
					if w%3 == 1 {
						return errAlone
					}
					panic("this one panics")
				})
				if fails := w%3 == 1; fails != errors.Is(err, errAlone) {
					k.Errorf("writer %d: %v", w, err)
				}
			}()
		}
	})
	var want []string
	for w := range writers {
		for i := range each {
			if w%3 == 0 {
				want = append(want, fmt.Sprintf("by/%d/%02d", w, i))
			}
		}
	}
	slices.Sort(want)
	k.want("", want...)
}

// A test that fails within an update ends its goroutine inside fn.
func shelfGoexit(k *shelfKit) {
	k.fill("a")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = k.s.Update(k.ctx, func(tx store.ShelfTx) error {
			k.put(tx, "b", "half")
			runtime.Goexit()
			return nil
		})
	}()
	<-gone
	k.want("", "a")
	k.fill("c")
	k.want("", "a", "c")
}

// The context of an update that waits behind a long one may end.
func shelfGivesUp(k *shelfKit) {
	over, cancel := context.WithCancel(k.ctx)
	entered, leave, long := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		long <- k.s.Update(k.ctx, func(tx store.ShelfTx) error {
			close(entered)
			<-leave
			return tx.Put("long", nil)
		})
	}()
	<-entered
	short := make(chan error, 1)
	go func() { short <- k.s.Update(over, func(tx store.ShelfTx) error { return tx.Put("short", nil) }) }()
	cancel()
	close(leave)
	k.must(<-long)
	if err := <-short; !errors.Is(err, context.Canceled) {
		k.Errorf("it returns %v", err)
	}
	k.want("", "long")
}

// Twice returns a shelf that runs every function twice, as a remote shelf does when its
// holder ends in between. The changes and the error of the first run are discarded.
// Tests on it detect callers that keep results of the first run.
func Twice(s store.Shelf) store.Shelf { return twice{s} }

type twice struct{ store.Shelf }

var errAgain = errors.New("once more")

// View implements store.Shelf.
func (s twice) View(ctx context.Context, fn func(store.ShelfReader) error) error {
	err := s.Shelf.View(ctx, func(r store.ShelfReader) error { _ = fn(r); return errAgain })
	if !errors.Is(err, errAgain) {
		return err
	}
	return s.Shelf.View(ctx, fn)
}

// Update implements store.Shelf.
func (s twice) Update(ctx context.Context, fn func(store.ShelfTx) error) error {
	err := s.Shelf.Update(ctx, func(tx store.ShelfTx) error { _ = fn(tx); return errAgain })
	if !errors.Is(err, errAgain) {
		return err
	}
	return s.Shelf.Update(ctx, fn)
}
