package store

import (
	"fmt"

	"github.com/kenlayer/ken"
)

// MaxShelfKey is how long a key on a shelf may be, in bytes.
const MaxShelfKey = 1024

// CheckShelfKey says what every shelf's Put says of a key that it can't keep:
// ErrInvalid for one that is empty or longer than MaxShelfKey.
func CheckShelfKey(key string) error {
	switch {
	case key == "":
		return &ken.Error{Code: ken.CodeInvalid, Field: "key", Msg: "a key on the shelf can't be empty",
			Try: "Give a path that starts with the package's name."}
	case len(key) > MaxShelfKey:
		return &ken.Error{Code: ken.CodeInvalid, Field: "key", Msg: fmt.Sprintf("a key on the shelf has at most %d bytes, this one %d", MaxShelfKey, len(key)),
			Try: "Put what varies into the value, or hash it."}
	}
	return nil
}
