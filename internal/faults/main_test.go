package faults

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(workerDir); dir != "" {
		os.Exit(work(dir, os.Getenv(workerName)))
	}
	os.Exit(m.Run())
}
