package access

import (
	"unicode"
	"unicode/utf8"
)

// OwnerForm describes the names that ValidOwner accepts, for messages.
const OwnerForm = "a name of at most 128 bytes of letters, digits and . _ @ + - | : = ~ that starts with a letter or digit"

// ValidOwner reports whether a new owner may have a name. Such a name fits into a header, a configuration
// and, once escaped, the name of a folder. Ids of identity providers ("auth0|5f7c", "ana+work@acme.org")
// are among them.
func ValidOwner(name string) bool {
	if name == "" || len(name) > 128 || !utf8.ValidString(name) {
		return false
	}
	for i, r := range name {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r):
		case i == 0:
			return false
		case unicode.IsMark(r): // of the letter before it
		default:
			switch r {
			case '.', '_', '@', '+', '-', '|', ':', '=', '~':
			default:
				return false
			}
		}
	}
	return true
}
