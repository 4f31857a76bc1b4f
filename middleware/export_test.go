package middleware

import "time"

// AwaitTurns makes turns wait for their blocks, however long the stages take.
func (l *Layer) AwaitTurns() { l.slack = time.Hour }
