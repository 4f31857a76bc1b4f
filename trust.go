package ken

import "strconv"

// Trust is who is speaking through a piece of evidence. The zero value is
// unknown, and unknown is treated as external everywhere.
type Trust uint8

// Levels of trust, lowest first.
const (
	TrustUnknown Trust = iota
	TrustExternal
	TrustAgent
	TrustOperator
)

var trustNames = [...]string{"unknown", "external", "agent", "operator"}

// String returns "unknown", "external", "agent" or "operator".
func (t Trust) String() string { return enumName(trustNames[:], int(t)) }

// IsZero reports the unknown level, which JSON leaves out.
func (t Trust) IsZero() bool { return t == TrustUnknown }

// AtLeast reports whether t reaches min, counting unknown as external.
func (t Trust) AtLeast(min Trust) bool { return max(t, TrustExternal) >= max(min, TrustExternal) }

// MarshalText writes the name.
func (t Trust) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a name; an unknown one is an error.
func (t *Trust) UnmarshalText(b []byte) error {
	i, err := enumValue("trust", trustNames[:], string(b))
	*t = Trust(i)
	return err
}

func enumName(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return "invalid(" + strconv.Itoa(i) + ")"
	}
	return names[i]
}

func enumValue(field string, names []string, s string) (int, error) {
	for i, n := range names {
		if n == s {
			return i, nil
		}
	}
	return 0, invalid(field, "unknown value "+strconv.Quote(s), "Use one of "+joinKinds(names)+".")
}
