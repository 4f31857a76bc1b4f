//go:build !unix

package bolt

import "os"

func unlock(*os.File) {}
