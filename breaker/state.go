package breaker

import "strconv"

// State is the state of a breaker. The zero value is closed.
type State uint8

// The states.
const (
	Closed   State = iota // calls pass
	Open                  // calls are refused
	HalfOpen              // one probe passes, everything else is refused
)

var stateNames = [...]string{"closed", "open", "half-open"}

// String returns the state's name: closed, open or half-open.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "state(" + strconv.Itoa(int(s)) + ")"
}

// MarshalText writes the name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Change is one move from a state to another.
type Change struct {
	Name     string // the breaker's
	From, To State
	Cause    error // the last failure; nil when To is Closed
}
