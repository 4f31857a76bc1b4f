//go:build unix

package runner

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives a command its own process group. Signals then reach everything that it starts, and signals from the
// terminal do not reach it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup asks a command's group to end, or kills it. SIGCONT lets stopped processes receive SIGTERM.
func endGroup(p *os.Process, kill bool) {
	if kill {
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
		return
	}
	_ = syscall.Kill(-p.Pid, syscall.SIGTERM)
	_ = syscall.Kill(-p.Pid, syscall.SIGCONT)
}

// groupLives reports whether any process of a command's group exists.
func groupLives(p *os.Process) bool {
	err := syscall.Kill(-p.Pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
