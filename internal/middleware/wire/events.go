package wire

import (
	"bytes"
	"iter"
)

// events yields the data of each event of a stream that is JSON: [DONE], comments
// and where it broke off are none. An event may have its data on several lines;
// some servers leave out the empty line between two events.
func events(body []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var rows [][]byte
		for line := range bytes.Lines(body) {
			line = bytes.TrimSpace(line)
			if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				rows = append(rows, bytes.TrimSpace(data))
				continue
			}
			if len(line) == 0 {
				if !event(rows, yield) {
					return
				}
				rows = rows[:0]
			}
		}
		event(rows, yield)
	}
}

func event(rows [][]byte, yield func([]byte) bool) bool {
	if len(rows) > 1 {
		if whole := bytes.Join(rows, []byte("\n")); valid(whole) {
			return yield(whole)
		}
	}
	for _, data := range rows {
		if len(data) > 0 && data[0] == '{' && valid(data) && !yield(data) {
			return false
		}
	}
	return true
}
