// Command upstream serves the recorded model provider of package upstreamtest to tests in other
// languages. It prints its address on the first line of standard output. It ends when its standard
// input ends, so that it does not outlive the test that started it.
//
//	upstream [ADDRESS]
//
// For the control paths see upstreamtest.Server.Control.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		panic(err)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	address := "127.0.0.1:0"
	if len(args) > 0 {
		address = args[0]
	}
	s, err := upstreamtest.Start(address)
	if err != nil {
		return err
	}
	defer s.Close()
	s.Control()
	if _, err := fmt.Fprintln(out, s.URL); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}
