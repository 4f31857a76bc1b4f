package connect

import (
	"fmt"
	"os/exec"
	"syscall"
)

// detachedProcess is the Windows flag that creates a process without a console.
const detachedProcess = 0x00000008

// startDetached starts a program that keeps running when this process and its terminal end.
func startDetached(program string, args []string) error {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	return cmd.Process.Release()
}
