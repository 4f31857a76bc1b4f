package bolt

import "encoding/binary"

func key32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
func key64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func pair(a, b []byte) []byte {
	out := make([]byte, 0, len(a)+len(b))
	return append(append(out, a...), b...)
}

// citeKey joins a path and the record that cites it; no path holds a NUL.
func citeKey(path string, ref uint32) []byte {
	return append(append([]byte(path), 0), key32(ref)...)
}
