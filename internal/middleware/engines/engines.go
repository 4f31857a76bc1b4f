// Package engines opens the engine that a configuration names.
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
		return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: "read the certificates of nodes", Err: err, Try: "Give PEM files that this user can read."}
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

// Address is the URL of an engine without what only this user needs.
func Address(engine string) string {
	u, err := url.Parse(engine)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") { // several URLs, without users
		return engine
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// Facts are what can be seen of an engine and of the nodes that share it, for programs too.
type Facts struct {
	Health string           `json:"health"`
	Nodes  []commitlog.Node `json:"nodes"`
	Owners []OwnerFacts     `json:"owners"`
	More   int              `json:"more,omitempty"` // owners that were not asked about
}

// OwnerFacts say who serves an owner, and how long the log is that a new node has to read.
type OwnerFacts struct {
	Owner    string `json:"owner"`
	Node     string `json:"node,omitempty"` // "" for nobody
	Address  string `json:"address,omitempty"`
	Last     uint64 `json:"last"`     // position of the last record
	Snapshot uint64 `json:"snapshot"` // of the snapshot that stands for the records before it
}

// maxOwners bounds how many owners are asked about.
const maxOwners = 200

// Look asks the engine of a configuration whose store.url is set. Errors: those of Open, and of
// the engine.
func Look(ctx context.Context, c config.Store) (Facts, error) {
	log, err := Open(ctx, c)
	if err != nil {
		return Facts{}, err
	}
	defer log.Close()
	return Ask(ctx, log)
}

// Ask asks an engine.
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
