package remote

import (
	"crypto/tls"
	"os"
	"sync"
	"time"
)

// Certificate is the certificate of a server or a client. It reads the files again when one of them
// has changed, so that a renewed certificate needs no restart.
type Certificate struct {
	cert, key string // paths

	mu   sync.Mutex // guards the rest
	pair *tls.Certificate
	read [2]time.Time // when the files were changed that pair was read from
}

// ReadCertificate reads the PEM files of a certificate and its key.
func ReadCertificate(cert, key string) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key}
	return c, c.update()
}

// Current returns the certificate. While the files can't be read, or do not belong together, it is the
// earlier one.
func (c *Certificate) Current() *tls.Certificate {
	_ = c.update()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pair
}

// update reads the files if they have changed.
func (c *Certificate) update() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var changed [2]time.Time
	for i, path := range []string{c.cert, c.key} {
		f, err := os.Stat(path)
		if err != nil {
			return err
		}
		changed[i] = f.ModTime()
	}
	if c.pair != nil && changed == c.read {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err == nil {
		c.pair, c.read = &pair, changed
	}
	return err
}
