//go:build unix

package model

import (
	"os/exec"
	"syscall"
)

// ownGroup starts a program in its own process group and kills the whole group
// on cancellation.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
