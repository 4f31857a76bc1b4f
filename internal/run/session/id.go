package session

import (
	"strconv"
	"strings"
)

// messageID is how evidence names a message of a session.
func messageID(seq uint64) string { return "m" + strconv.FormatUint(seq, 10) }

// ParseMessageID reads what Entry.ID wrote.
func ParseMessageID(id string) (seq uint64, ok bool) {
	n, ok := strings.CutPrefix(id, "m")
	if !ok {
		return 0, false
	}
	seq, err := strconv.ParseUint(n, 10, 64)
	return seq, err == nil && seq > 0
}
