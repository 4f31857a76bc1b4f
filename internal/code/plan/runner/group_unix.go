//go:build unix

package runner

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group of its own: it is signalled with all that it
// starts, and not by the terminal.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup asks a command's group to end, or kills it. Who is stopped would not hear.
func endGroup(p *os.Process, kill bool) {
	if kill {
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
		return
	}
	_ = syscall.Kill(-p.Pid, syscall.SIGTERM)
	_ = syscall.Kill(-p.Pid, syscall.SIGCONT)
}

// groupLives reports whether anybody of a command's group is left.
func groupLives(p *os.Process) bool {
	err := syscall.Kill(-p.Pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
