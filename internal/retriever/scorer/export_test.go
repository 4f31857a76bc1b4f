package scorer

import (
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// Newer is a state as a later version would write it.
func Newer(t testing.TB) []byte {
	t.Helper()
	head := `{"version":99}`
	rest := append(binary.LittleEndian.AppendUint32(nil, uint32(len(head))), head...)
	return append(binary.LittleEndian.AppendUint32(magic[:], crc32.ChecksumIEEE(rest)), rest...)
}
