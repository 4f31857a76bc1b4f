// Package engines opens the storage engine that a configuration names.
package engines

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/commitlog/jetstream"
	"github.com/kenlayer/ken/internal/store/commitlog/postgres"
	"github.com/kenlayer/ken/internal/store/remote"
)

// Open connects to the engine of store.url, which must be set.
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

// NodeName is the name in a node's certificate, whatever its host name, because an authority may
// also sign certificates of others.
const NodeName = "ken.node"

// TLS returns the configurations with which nodes authenticate each other: by certificates for
// NodeName from one authority. A certificate is read again when its files change. Both are nil if no certificate is configured.
func TLS(c config.Store) (server, client *tls.Config, err error) {
	if c.Cert == "" || c.CA == "" {
		return nil, nil, nil
	}
	wrong := func(field string, err error) error {
		return &ken.Error{Code: ken.CodeUnavailable, Field: field, Msg: "read the certificates of nodes", Err: err, Try: "Give PEM files that this user can read."}
	}
	cert, err := remote.ReadCertificate(c.Cert, c.Key)
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
	if leaf, err := x509.ParseCertificate(cert.Current().Certificate[0]); err != nil || leaf.VerifyHostname(NodeName) != nil {
		return nil, nil, wrong("store.cert", fmt.Errorf("%s is not for the name %s", c.Cert, NodeName))
	}
	server = &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority,
		GetCertificate:   func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return cert.Current(), nil },
		VerifyConnection: func(s tls.ConnectionState) error { return s.PeerCertificates[0].VerifyHostname(NodeName) }}
	client = &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: authority, ServerName: NodeName,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert.Current(), nil }}
	return server, client, nil
}

// Address returns the URL of an engine without user name and password.
func Address(engine string) string {
	u, err := url.Parse(engine)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") { // several URLs, without users
		return engine
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// Facts describes the state of an engine and of the nodes that share it.
type Facts struct {
	Health string           `json:"health"`
	Nodes  []commitlog.Node `json:"nodes"`
	Owners []OwnerFacts     `json:"owners"`
	More   int              `json:"more,omitempty"` // number of owners that were not queried
}

// OwnerFacts says which node serves an owner, and how long the log is that a new node has to read.
type OwnerFacts struct {
	Owner    string `json:"owner"`
	Node     string `json:"node,omitempty"` // "" if none does
	Address  string `json:"address,omitempty"`
	Last     uint64 `json:"last"`     // position of the last record
	Snapshot uint64 `json:"snapshot"` // position of the snapshot that replaces the records before it
}

// maxOwners is the maximum number of owners that are queried.
const maxOwners = 200

// Look queries the engine of store.url, which must be set. It returns the errors of Open and of the
// engine.
func Look(ctx context.Context, c config.Store) (Facts, error) {
	log, err := Open(ctx, c)
	if err != nil {
		return Facts{}, err
	}
	defer log.Close()
	return Ask(ctx, log)
}

// Ask queries an engine.
func Ask(ctx context.Context, log commitlog.Log) (f Facts, err error) {
	if f.Health, err = log.Health(ctx); err != nil {
		return f, err
	}
	if f.Nodes, err = log.Nodes(ctx); err != nil {
		return f, err
	}
	owners, err := log.Owners(ctx)
	slices.Sort(owners)
	f.More = max(0, len(owners)-maxOwners)
	for _, owner := range owners[:len(owners)-f.More] {
		o := OwnerFacts{Owner: owner}
		var l commitlog.Lease
		if l, err = log.Lease(ctx, owner); err != nil {
			return f, err
		}
		o.Node, o.Address = l.Node, l.Address
		if o.Last, err = log.Last(ctx, owner); err != nil {
			return f, err
		}
		at, r, err := log.Snapshot(ctx, owner)
		if err != nil {
			return f, err
		}
		if r != nil {
			_ = r.Close()
		}
		o.Snapshot = at
		f.Owners = append(f.Owners, o)
	}
	return f, err
}
