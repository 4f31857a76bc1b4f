package bolt

import (
	"encoding/json"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// layoutShortRows is the layout in which rows end before the form.
const layoutShortRows = 1

// layoutNoSums is the layout in which no value has a checksum. Values get theirs when they
// are written again, or all at once by a rebuild.
const layoutNoSums = 2

const shortRow = rowSize - 15

// lengthenRows turns rows of layoutShortRows into today's. What they lack
// follows from the claims.
func lengthenRows(tx *bbolt.Tx) error {
	rows, claims := tx.Bucket(bRows), tx.Bucket(bClaims)
	longer := map[string][]byte{}
	err := rows.ForEach(func(k, v []byte) error {
		if len(v) != shortRow {
			return errRow
		}
		var r row
		if err := r.decode(append(append([]byte{}, v...), make([]byte, rowSize-shortRow)...)); err != nil {
			return err
		}
		if text := claims.Get(k); text != nil {
			var c ken.Claim
			if err := json.Unmarshal(text, &c); err != nil {
				return err
			}
			r.form = analysis.FormOf(c.Text)
			r.stream, r.place = streamOf(&c, r.flags&flagDocument != 0)
		}
		longer[string(k)] = r.encode()
		return nil
	})
	if err != nil {
		return err
	}
	for k, v := range longer {
		if err := rows.Put([]byte(k), v); err != nil {
			return err
		}
	}
	return nil
}
