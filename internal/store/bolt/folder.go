package bolt

import (
	"net/url"
	"strings"
)

// escaper escapes what url.PathEscape leaves alone. It is made once: each turn asks
// for a name.
var escaper = strings.NewReplacer(":", "%3A", "*", "%2A")

// FolderName is the name of an owner's folder: the owner's own name where a file
// system allows it, percent-encoded where not. The store in the folder records
// its owner, so that no two names can be mixed up even where case is ignored.
func FolderName(owner string) string {
	name := url.PathEscape(owner)
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	return escaper.Replace(name)
}
