package engines_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/engines"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.issue("ca", &x509.Certificate{Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil)
	return a
}

// issue writes a certificate and its key as PEM files.
func (a *authority) issue(file string, c *x509.Certificate, by *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(a.t, err)
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := c, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	must(a.t, err)
	secret, err := x509.MarshalECPrivateKey(key)
	must(a.t, err)
	must(a.t, os.WriteFile(filepath.Join(a.dir, file+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(a.t, os.WriteFile(filepath.Join(a.dir, file+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600))
	cert, err := x509.ParseCertificate(der)
	must(a.t, err)
	return cert, key
}

// node issues the certificate of a node, for a name, and returns its configuration.
func (a *authority) node(file, name string) config.Store {
	a.issue(file, &x509.Certificate{DNSNames: []string{name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}, a)
	return config.Store{CA: filepath.Join(a.dir, "ca.pem"), Cert: filepath.Join(a.dir, file+".pem"), Key: filepath.Join(a.dir, file+".key")}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// meet has a client shake hands with a server, and returns what went wrong.
func meet(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	must(t, err)
	defer l.Close()
	heard := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			err = errors.Join(c.(*tls.Conn).Handshake(), c.Close())
		}
		heard <- err
	}()
	raw, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	must(t, err)
	c := tls.Client(raw, client)
	defer c.Close()
	if err := c.Handshake(); err != nil {
		_ = raw.Close()
		return errors.Join(err, <-heard)
	}
	return <-heard
}

// Nodes of one authority meet. Another authority's certificate, one that is for something
// else, and none are refused.
func TestNodesKnowEachOther(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	server, client, err := engines.TLS(ours.node("node", engines.NodeName))
	must(t, err)
	if err := meet(t, server, client); err != nil {
		t.Errorf("two nodes: %v", err)
	}
	foreignServer, foreignClient, err := engines.TLS(theirs.node("node", engines.NodeName))
	must(t, err)
	if meet(t, server, foreignClient) == nil || meet(t, foreignServer, client) == nil {
		t.Error("a node of another authority is let in")
	}
	// The authority signs others' certificates as well.
	c := ours.node("web", "www.example.com")
	if _, _, err := engines.TLS(c); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("a certificate for another name is taken: %v", err)
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	must(t, err)
	web := client.Clone()
	web.GetClientCertificate, web.Certificates = nil, []tls.Certificate{pair}
	if meet(t, server, web) == nil {
		t.Error("a client with a certificate for another name is let in")
	}
	webServer := server.Clone()
	webServer.GetCertificate, webServer.Certificates = nil, []tls.Certificate{pair}
	if meet(t, webServer, client) == nil {
		t.Error("a server with a certificate for another name is believed")
	}
	nobody := client.Clone()
	nobody.GetClientCertificate = nil
	if meet(t, server, nobody) == nil {
		t.Error("a client without a certificate is let in")
	}
}

// What can't be read is an error that names the setting, and no fault of the client that asks for
// knowledge.
func TestFilesThatAreWrong(t *testing.T) {
	good := newAuthority(t).node("node", engines.NodeName)
	for field, break_ := range map[string]func(c *config.Store){
		"store.cert": func(c *config.Store) { c.Cert = filepath.Join(t.TempDir(), "none.pem") },
		"store.ca":   func(c *config.Store) { c.CA = c.Key },
	} {
		c := good
		break_(&c)
		_, _, err := engines.TLS(c)
		var e *ken.Error
		if !errors.As(err, &e) || e.Code != ken.CodeUnavailable || e.Field != field || e.Try == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
	if server, client, err := engines.TLS(config.Store{}); server != nil || client != nil || err != nil {
		t.Errorf("without files: %v", err)
	}
}

// An engine that is not there is an error that says which setting names it.
func TestNoEngine(t *testing.T) {
	for _, url := range []string{"nats://127.0.0.1:1", "postgres://127.0.0.1:1/none?connect_timeout=1"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := engines.Open(ctx, config.Store{URL: url})
		cancel()
		var e *ken.Error
		if !errors.As(err, &e) || e.Field != "store.url" || e.Code != ken.CodeUnavailable {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// A node that runs uses the certificate that was renewed, and the earlier one while the files do not
// belong together.
func TestRenewedCertificate(t *testing.T) {
	a := newAuthority(t)
	c := a.node("node", engines.NodeName)
	server, client, err := engines.TLS(c)
	must(t, err)
	var serial *big.Int
	client.VerifyConnection = func(s tls.ConnectionState) error {
		serial = s.PeerCertificates[0].SerialNumber
		return nil
	}
	must(t, meet(t, server, client))
	first := serial
	replace := func(from, to string, at time.Time) {
		b, err := os.ReadFile(from)
		must(t, err)
		must(t, os.WriteFile(to, b, 0o600))
		must(t, os.Chtimes(to, at, at))
	}
	next := a.node("next", engines.NodeName)
	at := time.Now().Add(time.Minute)
	replace(next.Cert, c.Cert, at)
	must(t, meet(t, server, client))
	if serial.Cmp(first) != 0 {
		t.Error("a certificate without its key is used")
	}
	replace(next.Key, c.Key, at)
	must(t, meet(t, server, client))
	if serial.Cmp(first) == 0 {
		t.Error("the earlier certificate is still used")
	}
}
