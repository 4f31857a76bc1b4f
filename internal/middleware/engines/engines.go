// Package engines opens the engine that a configuration names.
package engines

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/commitlog/jetstream"
	"github.com/kenlayer/ken/internal/store/commitlog/postgres"
)

// Open connects with the engine of a configuration whose store.url is set.
func Open(ctx context.Context, c config.Store) (log commitlog.Log, err error) {
	if strings.HasPrefix(c.URL, "postgres") {
		log, err = postgres.Open(ctx, postgres.Options{URL: c.URL})
	} else {
		log, err = jetstream.Open(ctx, jetstream.Options{URL: c.URL, Replicas: c.Replicas, Credentials: c.Credentials, CA: c.CA, Cert: c.Cert, Key: c.Key})
	}
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeUnavailable, Field: "store.url", Msg: "open the engine of the store", Err: err,
			Try: "Check that its servers run and that this user may use them. See docs/scaling.md."}
	}
	return log, nil
}

// NodeName is what a node's certificate is for, whatever its host is called: an authority may
// sign others' as well.
const NodeName = "ken.node"

// TLS returns how nodes show each other who they are: by certificates for NodeName of one
// authority. Nil without them.
func TLS(c config.Store) (server, client *tls.Config, err error) {
	if c.Cert == "" || c.CA == "" {
		return nil, nil, nil
	}
	wrong := func(field string, err error) error {
		return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: "read what nodes know each other by", Err: err, Try: "Give PEM files that this user can read."}
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, nil, wrong("store.cert", err)
	}
	pem, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, nil, wrong("store.ca", err)
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(pem) {
		return nil, nil, wrong("store.ca", fmt.Errorf("%s holds no certificate", c.CA))
	}
	if leaf, err := x509.ParseCertificate(pair.Certificate[0]); err != nil || leaf.VerifyHostname(NodeName) != nil {
		return nil, nil, wrong("store.cert", fmt.Errorf("%s is not for the name %s", c.Cert, NodeName))
	}
	server = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority,
		VerifyConnection: func(s tls.ConnectionState) error { return s.PeerCertificates[0].VerifyHostname(NodeName) }}
	client = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, RootCAs: authority, ServerName: NodeName}
	return server, client, nil
}
