package observe

import (
	"testing"
	"time"
)

// Impatient makes a silent pipe be waited for no longer than d, until the test is over.
func Impatient(t *testing.T, d time.Duration) {
	was := drained
	drained = d
	t.Cleanup(func() { drained = was })
}
