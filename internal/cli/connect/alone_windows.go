package connect

import (
	"fmt"
	"os/exec"
	"syscall"
)

// detachedProcess is Windows' flag for a process without a console.
const detachedProcess = 0x00000008

// startAlone starts a program that goes on when this process and its terminal are gone.
func startAlone(program string, args []string) error {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	return cmd.Process.Release()
}
