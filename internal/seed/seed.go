// Package seed provides the random seeds of tests: the same in every run by default, so
// that a commit doesn't fail by chance, and different ones on demand.
package seed

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
)

var (
	mu     sync.Mutex // guards called
	called = map[string]uint64{}
)

// Of returns the next seed of a test and logs it. Each call in a test returns a
// different seed, and each run the same ones. KEN_SEED sets the seed to a number, such
// as one that a failure printed; KEN_SEED=random uses random seeds to find new
// failures.
func Of(t testing.TB) uint64 {
	t.Helper()
	seed := next(t.Name())
	switch s := os.Getenv("KEN_SEED"); s {
	case "":
	case "random":
		seed = rand.Uint64()
	default:
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("KEN_SEED: %v", err)
		}
	}
	t.Logf("KEN_SEED=%d", seed)
	return seed
}

func next(test string) uint64 {
	mu.Lock()
	defer mu.Unlock()
	called[test]++
	h := fnv.New64a()
	_, _ = h.Write([]byte(test))
	return h.Sum64() + called[test]
}
