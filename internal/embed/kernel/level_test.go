//go:build !amd64

package kernel

import "testing"

func everyLevel(t *testing.T, name string, f func(t *testing.T)) { t.Run(name, f) }
