package observe

import (
	"testing"
	"time"
)

// Impatient makes a silent pipe be waited for no longer than d, until the test is over.
func Impatient(t *testing.T, d time.Duration) {
	was := drainTimeout
	drainTimeout = d
	t.Cleanup(func() { drainTimeout = was })
}
