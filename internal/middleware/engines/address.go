package engines

import (
	"net/url"
	"strings"
)

// Address is the URL of an engine without what only this user needs.
func Address(engine string) string {
	u, err := url.Parse(engine)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") { // several URLs, without users
		return engine
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}
