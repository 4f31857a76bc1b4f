//go:build !unix

package runner

import (
	"os"
	"os/exec"
)

// Where there are no process groups, a command is on its own.
func ownGroup(*exec.Cmd) {}

func endGroup(p *os.Process, _ bool) { _ = p.Kill() }

func groupLives(*os.Process) bool { return false }
