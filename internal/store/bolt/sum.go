package bolt

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// A value of the buckets claims, rows, classes, keys, about, docs and shelf ends with a
// checksum and a mark. The checksum is CRC-32C over the bucket's name, the key and the
// value, so a value that has come to another place does not pass either. bbolt itself
// checks nothing but its two meta pages.
//
// Values of programs before layout 3 have no checksum. A file that such a program has
// made may have some until it is rebuilt; in any other, a value without one is damaged.
const (
	sumMark = "\x00\xfe"
	sumSize = crc32.Size + len(sumMark)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(bucket, key, value []byte) uint32 {
	sum := crc32.Update(0, castagnoli, bucket)
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, value)
}

// seal returns value with its checksum; value keeps its bytes.
func seal(bucket, key, value []byte) []byte {
	out := make([]byte, 0, len(value)+sumSize)
	out = append(out, value...)
	out = binary.BigEndian.AppendUint32(out, sumOf(bucket, key, value))
	return append(out, sumMark...)
}

// unseal checks what seal made and returns the value, which shares its memory. Nil
// stays nil.
func (s *Store) unseal(bucket, key, v []byte) ([]byte, error) {
	n := len(v) - sumSize
	switch {
	case v == nil:
		return nil, nil
	case n >= 0 && string(v[n+crc32.Size:]) == sumMark:
	case s.sealed:
		return nil, errSum
	default:
		return v, nil
	}
	if binary.BigEndian.Uint32(v[n:]) != sumOf(bucket, key, v[:n]) {
		return nil, errSum
	}
	return v[:n:n], nil
}

var errSum = errors.New("the checksum does not match, or is missing")

// get reads a value of a bucket; nil when there is none.
func (s *Store) get(tx *bbolt.Tx, bucket, key []byte) ([]byte, error) {
	v, err := s.unseal(bucket, key, tx.Bucket(bucket).Get(key))
	if err != nil {
		return nil, damaged(fmt.Sprintf("read %s %x", bucket, key), err)
	}
	return v, nil
}

// claimAt reads a record; nil when there is none. Errors: ErrCorrupt.
func (s *Store) claimAt(tx *bbolt.Tx, ref store.Ref) (*ken.Claim, error) {
	return s.decodeClaim(ref, tx.Bucket(bClaims).Get(key32(ref)))
}

func (s *Store) decodeClaim(ref store.Ref, v []byte) (*ken.Claim, error) {
	v, err := s.unseal(bClaims, key32(ref), v)
	if v == nil && err == nil {
		return nil, nil
	}
	var c ken.Claim
	if err == nil {
		err = json.Unmarshal(v, &c)
	}
	if err != nil {
		return nil, damaged(fmt.Sprintf("read record %d", ref), err)
	}
	return &c, nil
}

// damaged is the error of something that was written and can't be read.
func damaged(what string, cause error) *ken.Error {
	return &ken.Error{Code: ken.CodeCorrupt, Msg: what, Err: cause,
		Try: "Run ken check to see what is damaged, and ken check --repair to mend it from the log."}
}
