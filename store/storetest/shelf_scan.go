package storetest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken/store"
)

func shelfScanOrder(k *shelfKit) {
	keys := []string{"b", "a", "a/", "a/b", "a/B", "a!", "ab", "a/\xff", "a0", "B", "é", "a/b/c"}
	k.fill(keys...)
	slices.Sort(keys)
	k.want("", keys...)
	k.view(func(r store.ShelfReader) {
		for key, value := range r.Scan("a/") {
			if string(value) != key {
				k.Errorf("%q comes with %q", key, value)
			}
		}
	})
}

func shelfPrefixes(k *shelfKit) {
	k.fill("a", "a\xfe", "a\xff", "a\xffz", "a\xff\xff", "a\xff\xff\x00", "b", "\xff", "\xff\xff", "\xff\xff\xff")
	k.want("a\xff", "a\xff", "a\xffz", "a\xff\xff", "a\xff\xff\x00")
	k.want("a\xff\xff", "a\xff\xff", "a\xff\xff\x00")
	k.want("\xff", "\xff", "\xff\xff", "\xff\xff\xff")
	k.want("\xff\xff\xff", "\xff\xff\xff")
	k.want("\xff\xff\xff\xff")
	k.want("a", "a", "a\xfe", "a\xff", "a\xffz", "a\xff\xff", "a\xff\xff\x00")
	k.want("b", "b")
	k.want("0")
	k.want("c")
	k.want(strings.Repeat("a", 5000))
}

func shelfScanStops(k *shelfKit) {
	k.fill("a/1", "a/2", "a/3", "b/1")
	k.view(func(r store.ShelfReader) {
		var got []string
		for key := range r.Scan("a/") {
			if got = append(got, key); len(got) == 2 {
				break
			}
		}
		if !slices.Equal(got, []string{"a/1", "a/2"}) {
			k.Errorf("got %q", got)
		}
		again := r.Scan("a/") // a sequence can be used twice and nested
		pairs := 0
		for range again {
			for range again {
				pairs++
			}
		}
		if pairs != 9 {
			k.Errorf("%d pairs of 3 keys", pairs)
		}
	})
}

// An index is often written while the entries that it points to are scanned. Keys next
// to the prefix share its pages.
func shelfWritesWhileScanning(k *shelfKit) {
	var keys []string
	for i := range 300 {
		keys = append(keys, fmt.Sprintf("m/%04d", i))
	}
	k.fill(keys...)
	k.update(func(tx store.ShelfTx) {
		k.put(tx, "m/0000", "m/0000") // a write before the scan, so that the page is being edited already
		i := 0
		for key, value := range tx.Scan("m/") {
			if i >= len(keys) || key != keys[i] || string(value) != key {
				k.Fatalf("key %d is %q with %q", i, key, value)
			}
			k.put(tx, "a/"+key, "before")
			k.put(tx, "z/"+key, "behind")
			if i > 0 {
				k.delete(tx, "a/"+keys[i-1])
			}
			i++
		}
		if i != len(keys) {
			k.Errorf("%d of %d keys were seen", i, len(keys))
		}
	})
	k.want("a/", "a/m/0299")
	if n := len(k.keys("z/")); n != len(keys) {
		k.Errorf("%d of %d keys were written", n, len(keys))
	}
}

// shelfModel makes the same random changes to the shelf and to a map, and compares
// them.
func shelfModel(k *shelfKit) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 7))
	model := map[string]string{}
	letters := []string{"a", "b", "/", "\x00", "\xff"}
	word := func() string {
		var b strings.Builder
		for range 1 + rng.IntN(4) {
			b.WriteString(letters[rng.IntN(len(letters))])
		}
		return b.String()
	}
	for step := range 150 {
		next := maps.Clone(model)
		fail := rng.IntN(5) == 0
		err := k.s.Update(k.ctx, func(tx store.ShelfTx) error {
			for range rng.IntN(12) {
				key := word()
				if rng.IntN(3) == 0 {
					k.delete(tx, key)
					delete(next, key)
				} else {
					value := strings.Repeat(word(), rng.IntN(200))
					k.put(tx, key, value)
					next[key] = value
				}
				if rng.IntN(4) == 0 {
					k.same(tx, word(), next, seed, step)
				}
			}
			if fail {
				return errModel
			}
			return nil
		})
		if fail != errors.Is(err, errModel) {
			k.Fatalf("seed %d, step %d: %v", seed, step, err)
		}
		if !fail {
			model = next
		}
		k.view(func(r store.ShelfReader) {
			k.same(r, "", model, seed, step)
			k.same(r, word(), model, seed, step)
		})
	}
}

var errModel = errors.New("rolled back by the model")

// same compares the keys under a prefix with the model.
func (k *shelfKit) same(r store.ShelfReader, prefix string, model map[string]string, seed uint64, step int) {
	k.Helper()
	var want []string
	for _, key := range slices.Sorted(maps.Keys(model)) {
		if strings.HasPrefix(key, prefix) {
			want = append(want, key)
		}
	}
	var got []string
	for key, value := range r.Scan(prefix) {
		got = append(got, key)
		if string(value) != model[key] || string(r.Get(key)) != model[key] {
			k.Fatalf("seed %d, step %d: %q has another value than the model", seed, step, key)
		}
	}
	if !slices.Equal(got, want) {
		k.Fatalf("seed %d, step %d: under %q there is %q, want %q", seed, step, prefix, got, want)
	}
}

func shelfCounter(k *shelfKit) {
	const each = 25
	together(func(w int) {
		for range each {
			err := k.s.Update(k.ctx, func(tx store.ShelfTx) error {
				n, _ := strconv.Atoi(string(tx.Get("n")))
				return errors.Join(tx.Put(fmt.Sprintf("by/%d/%d", w, n), nil), tx.Put("n", []byte(strconv.Itoa(n+1))))
			})
			if err != nil {
				k.Errorf("update: %v", err)
			}
		}
	})
	if v, _ := k.get("n"); v != strconv.Itoa(writers*each) {
		k.Errorf("%d updates counted to %s", writers*each, v)
	}
	if n := len(k.keys("by/")); n != writers*each {
		k.Errorf("%d of %d keys", n, writers*each)
	}
}

// A view that began before an update does not see its changes and does not wait for it.
func shelfSnapshot(k *shelfKit) {
	// An update that has to enlarge the file may wait for readers, and here the reader
	// waits for the update. So enlarge the file first.
	k.update(func(tx store.ShelfTx) { k.put(tx, "room", strings.Repeat("x", 1<<20)) })
	k.update(func(tx store.ShelfTx) { k.delete(tx, "room") })
	k.fill("a", "b")
	k.view(func(r store.ShelfReader) {
		done := make(chan error)
		go func() {
			done <- k.s.Update(k.ctx, func(tx store.ShelfTx) error {
				return errors.Join(tx.Put("a", []byte("changed")), tx.Delete("b"), tx.Put("c", []byte("new")))
			})
		}()
		k.must(<-done)
		k.same(r, "", map[string]string{"a": "a", "b": "b"}, 0, 0)
	})
	k.want("", "a", "c")

	// A view that begins during an update does not see its changes.
	entered, leave, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- k.s.Update(k.ctx, func(tx store.ShelfTx) error {
			err := tx.Put("d", nil)
			close(entered)
			<-leave
			return err
		})
	}()
	<-entered
	k.want("", "a", "c")
	close(leave)
	k.must(<-done)
	k.want("", "a", "c", "d")
}

func shelfAtomicity(k *shelfKit) {
	k.fill("pair/a", "pair/b")
	together(func(w int) {
		for i := range 20 {
			value := fmt.Sprintf("%d/%d", w, i)
			if w%4 == 0 {
				err := k.s.Update(k.ctx, func(tx store.ShelfTx) error {
					return errors.Join(tx.Put("pair/a", []byte(value)), tx.Put("pair/b", []byte(value)))
				})
				if err != nil {
					k.Errorf("update: %v", err)
				}
				continue
			}
			err := k.s.View(k.ctx, func(r store.ShelfReader) error {
				a, b := string(r.Get("pair/a")), string(r.Get("pair/b"))
				if a != b && a != "pair/a" {
					k.Errorf("half an update: %q and %q", a, b)
				}
				if got := scan(r, "pair/"); !slices.Equal(got, []string{"pair/a", "pair/b"}) {
					k.Errorf("it sees %q", got)
				}
				return nil
			})
			if err != nil {
				k.Errorf("view: %v", err)
			}
		}
	})
}
