package access_test

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/access"
)

func TestValidOwner(t *testing.T) {
	for _, name := range []string{"default", "ana", "7", "ana+work@acme.org", "auth0|5f7c8ec7", "urn:acme:ana", "日本", "Zoë", "Zoe\u0308", strings.Repeat("a", 128)} {
		if !access.ValidOwner(name) {
			t.Errorf("%q is refused", name)
		}
	}
	for _, name := range []string{"", "ana maria", "../ana", "a/b", `a\b`, "a\x00b", "a\nb", ".ana", "-ana", "\u0308a", "ana ", "a\xffb", strings.Repeat("a", 129)} {
		if access.ValidOwner(name) {
			t.Errorf("%q is accepted", name)
		}
	}
}
