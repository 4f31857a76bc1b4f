package finding

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
)

// Parse returns Defaults as changed by a list of entries, in order. An entry is
// "role:name" or "role:name:argument" for a tool to be added, in place of one of
// the same name, and "-name" for one to be left out. An error is an ErrInvalid
// that names the entry.
func Parse(list []string) (Tools, error) {
	t := Defaults()
	for i, entry := range list {
		bad := func(msg, try string) error {
			return &ken.Error{Code: ken.CodeInvalid, Field: "tools[" + strconv.Itoa(i) + "]", Msg: strconv.Quote(entry) + ": " + msg, Try: try}
		}
		entry = strings.TrimSpace(entry)
		if name, ok := strings.CutPrefix(entry, "-"); ok {
			name = canonical(name)
			if _, known := t.byName[name]; !known {
				return Tools{}, bad("there is no such tool to be left out", "Check the spelling, or drop the entry.")
			}
			delete(t.byName, name)
			continue
		}
		role, rest, ok := strings.Cut(entry, ":")
		name, argument, _ := strings.Cut(rest, ":")
		name, argument = canonical(name), strings.TrimSpace(argument)
		switch {
		case !ok || name == "":
			return Tools{}, bad("no role and name", "Write it as role:name or role:name:argument, such as read:open_doc:doc_path.")
		case !slices.Contains(Roles(), Role(role)):
			return Tools{}, bad("unknown role "+strconv.Quote(role), "Use one of "+roleNames()+".")
		case strings.HasSuffix(entry, ":") || strings.ContainsAny(argument, ": \t"):
			return Tools{}, bad("no name of an argument after the second colon", "Name one argument of the tool, or leave the colon out.")
		}
		t.byName[name] = Tool{Name: name, Role: Role(role), Argument: argument}
	}
	return t, nil
}

func roleNames() string {
	var names []string
	for _, r := range Roles() {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}
