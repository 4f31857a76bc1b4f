package provenance

import (
	"errors"
	"time"

	"github.com/kenlayer/ken"
)

// One shows a claim that is at hand as Of would: its tier by now and why, and each piece
// of its evidence, in the claim's order. Errors: those of opening the project's folder.
func One(c *ken.Claim, o Options) (out Claim, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	f, err := openFiles(o.Root)
	if err != nil {
		return Claim{}, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	l := look{o: o, f: f, now: o.Now(), names: []string{c.ID}}
	return l.claim(c, true), nil
}
