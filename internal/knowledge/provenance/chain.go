package provenance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
)

// The verdicts of a check are under keys that count how often it turned, so that the
// one that stands is found by a few look-ups, however long the chain is.

// key is that of the n-th verdict.
func (c *Check) key(n int) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{c.Validator, c.Target, c.Scope.String(), c.Project}, "\x1f")))
	k := "check:" + hex.EncodeToString(sum[:16])
	if n > 0 {
		k += "#" + strconv.Itoa(n)
	}
	return k
}

// link is the end of a check's chain.
type link struct {
	claim *ken.Claim // the last verdict; nil when there is none
	free  string     // the key of the next one
}

// maxTurns bounds a chain; more would be a check that says nothing.
const maxTurns = 1 << 20

// latest finds the last verdict.
func latest(ctx context.Context, s Store, c *Check) (link, error) {
	at := func(n int) (*ken.Claim, error) {
		have, err := s.ByKey(ctx, c.key(n))
		if errors.Is(err, ken.ErrNotFound) {
			return nil, nil
		}
		return &have, err
	}
	// reaches reports whether the chain goes as far as n. One verdict may be missing: it
	// was forgotten.
	reaches := func(n int) (bool, error) {
		have, err := at(n)
		if err == nil && have == nil {
			have, err = at(n + 1)
		}
		return have != nil, err
	}
	low, high := -1, 1 // low reaches, high may
	for high < maxTurns {
		ok, err := reaches(high - 1)
		if err != nil {
			return link{}, err
		}
		if !ok {
			break
		}
		low, high = high-1, high*2
	}
	for high = high - 1; high-low > 1; {
		mid := (low + high) / 2
		ok, err := reaches(mid)
		if err != nil {
			return link{}, err
		}
		if ok {
			low = mid
		} else {
			high = mid
		}
	}
	if low < 0 {
		return link{free: c.key(0)}, nil
	}
	for n := low + 1; n >= low-1 && n >= 0; n-- { // around what may be missing
		have, err := at(n)
		if err != nil {
			return link{}, err
		}
		if have == nil {
			continue
		}
		if n > 0 {
			err = mend(ctx, s, c, n-1, have.ID, at)
		}
		return link{claim: have, free: c.key(n + 1)}, err
	}
	return link{free: c.key(low)}, nil
}

// mend supersedes the verdict before the last one, if whoever wrote the last one was
// stopped before that.
func mend(ctx context.Context, s Store, c *Check, n int, by string, at func(int) (*ken.Claim, error)) error {
	have, err := at(n)
	if err != nil || have == nil || have.Status == ken.StatusSuperseded {
		return err
	}
	return s.SupersedeFor(ctx, have.ID, by, "the check was made again", c.Actor)
}
