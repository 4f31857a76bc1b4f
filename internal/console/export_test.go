package console

import (
	"encoding/hex"

	"github.com/kenlayer/ken/internal/access"
)

// TokenOf returns the form token of visitors who did not log in.
func TokenOf(c *Console) string { return hex.EncodeToString(c.token[:]) }

// Routed is a line of the table of routes, for tests that go through all of them.
type Routed struct {
	Method, Path string
	Right        access.Right
}

// Routes is every route.
func Routes() (out []Routed) {
	for _, rt := range routes() {
		out = append(out, Routed{rt.method, rt.path, rt.right})
	}
	return out
}

// What a page may say, and where it may lead.
var (
	OwnPath = ownPath
	Shown   = escapeVisible
	OneLine = oneLine
)

const MostText = maxText

// StepFor is how a time is divided.
var StepFor = stepFor

const MostBuckets = maxBuckets

// SweepHead reads the head of a report.
var SweepHead = sweepHead
