//go:build unix

package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

// A full disk is told of, without a path, and no longer once there is room again. The
// gateway stays ready. The limit on file sizes stands in for a full disk.
func TestReadinessSaysThatTheDiskIsFull(t *testing.T) {
	const child = "KEN_TEST_FULL_DISK"
	if os.Getenv(child) == "" { // the limit is the process's: the test has one of its own
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	up := upstreamtest.New(t)
	l := layer(t, nil)
	k, _ := keyFor("k", "ana") // the fault is in a store that only a key names
	g := start(t, l, up.URL, withKeys(k))
	ready := func() reply { t.Helper(); return do(t, request(t, http.MethodGet, g.URL+"/readyz", "")) }
	s, release, err := l.Store(t.Context(), "ana")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if got := ready(); gjson.Get(got.body, "status").String() != "ok" {
		t.Fatal(got.body)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 512 << 10, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	write := func(i int) error {
		c, err := ken.NewClaim(fmt.Sprintf("claim number n%d %s", i, strings.Repeat("padding ", 2000)), ken.FromAgentAssertion("a", ""))
		if err == nil {
			_, err = s.WriteClaim(context.Background(), c)
		}
		return err
	}
	n := 0
	for ; err == nil && n < 1000; n++ {
		err = write(n)
	}
	full := ready()
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err == nil {
		t.Fatal("the limit has no effect")
	}
	if full.StatusCode != http.StatusOK || gjson.Get(full.body, "status").String() != "degraded" || !strings.Contains(full.body, "the disk is full") ||
		strings.Contains(full.body, "/") || strings.Contains(full.body, "ana") {
		t.Errorf("%d %s", full.StatusCode, full.body)
	}
	if err := write(n); err != nil {
		t.Fatal(err)
	}
	if got := ready(); gjson.Get(got.body, "status").String() != "ok" {
		t.Errorf("%s", got.body)
	}
}
