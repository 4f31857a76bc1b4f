package retry

import "time"

// Base is the first pause.
const Base = 10 * time.Second

// Backoff is the pause after attempt n, from 0: it doubles, and stops at a minute.
func Backoff(n int) time.Duration { return min(Base<<n, time.Minute) }
