//go:build !unix

package runner

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: this system has no process groups.
func ownGroup(*exec.Cmd) {}

func endGroup(p *os.Process, _ bool) { _ = p.Kill() }

func groupLives(*os.Process) bool { return false }
