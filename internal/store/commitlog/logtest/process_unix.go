//go:build unix

package logtest

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// asPostgres has a program run as the user postgres if the test runs as root, because PostgreSQL
// refuses to.
func asPostgres(cmd *exec.Cmd) error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return nil
}

// pause stops a process until resume.
func pause(pid int) { _ = syscall.Kill(pid, syscall.SIGSTOP) }

func resume(pid int) { _ = syscall.Kill(pid, syscall.SIGCONT) }
