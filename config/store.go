package config

import (
	"net/url"
	"strings"
)

// Store configures where knowledge is kept.
type Store struct {
	URL         string // "" keeps it in the folder of knowledge.db_path alone
	Next        string // the engine that owners are moved to, while they are
	Credentials string // a file
	CA          string // PEM files for the connections to the engine and between nodes
	Cert        string
	Key         string
	Listen      string
	Advertise   string
	Replicas    int // 0 is as many as there are servers, 3 at most
	OpenOwners  int
	Folder      int // megabytes
}

func (s *Store) keys() []key {
	file := func(name string, field *string, doc string) key {
		return bind(name, field, "", optionalPath(), doc).withConsentRule(needsConsent(reachPath))
	}
	return []key{
		bind("url", &s.URL, "", engineURL(),
			"The engine that keeps it for all nodes: nats://a:4222,b:4222,c:4222 for NATS JetStream, postgres://host/database for PostgreSQL 15 or "+
				"later. The folder of knowledge.db_path is a copy then. Empty: that folder is all there is. A password comes from "+
				"store.credentials, or for PostgreSQL from PGPASSWORD or a password file.").withConsentRule(needsConsent(reachAddress)),
		bind("next", &s.Next, "", engineURL(),
			"The engine that ken migrate moves owners to, while it does: an owner that has moved there is served from there. Afterwards it is set as store.url. Empty: "+
				"none.").withConsentRule(needsConsent(reachAddress)),
		file("credentials", &s.Credentials, "The file with the credentials of NATS. Empty: none."),
		file("ca", &s.CA, "The PEM file of the authority that signed the certificates of the nodes, and of NATS at a tls address. Empty: what the system trusts, "+
			"and nodes of one machine alone. PostgreSQL takes sslmode and sslrootcert in store.url."),
		file("cert", &s.Cert, "The PEM file of this node's certificate, for other nodes and for NATS at a tls address: for the name ken.node, and for servers and clients both."),
		file("key", &s.Key, "The PEM file of the certificate's key."),
		bind("listen", &s.Listen, "127.0.0.1:0", listenAddress(), "Where other nodes reach this one. An address that other machines can reach needs store.ca, "+
			"store.cert and store.key.").withConsentRule(needsConsent(reachListen)),
		bind("advertise", &s.Advertise, "", advertised(), "The host, with or without a port, by which other nodes reach this one. Empty: that of store.listen, or an address of this machine.").withConsentRule(needsConsent(reachListen)),
		bind("replicas", &s.Replicas, 0, whole(0, 5), "How many servers of NATS keep each record, when Ken makes the stream: 1, 3 or 5. 0: 3, or 1 with a single server."),
		bind("open_owners", &s.OpenOwners, 16, whole(1, 100000), "How many owners' stores stay open in this process, and how many are opened at once at most. Stores in use stay open beyond that. "+
			"An open store has its records and vectors in memory: see docs/scaling.md."),
		bind("folder_mb", &s.Folder, 4096, whole(1, 100000000), "With store.url: how many megabytes of owners' stores this node keeps in its folder. They are copies of what the engine has. Beyond that, those that were "+
			"used least recently are deleted, and made again when they are needed. Stores that are open stay. Without store.url nothing is ever deleted."),
	}
}

// engineURL is the address of an engine, or nothing. It can't carry a password.
func engineURL() kind[string] {
	k := words("a nats, tls or postgres URL without a password", "Give the address alone, such as nats://localhost:4222. See docs/scaling.md.",
		func(s string) bool {
			if s == "" {
				return true
			}
			all := strings.Split(s, ",")
			if strings.HasPrefix(s, "postgres") {
				all = []string{s}
			}
			for i, one := range all { // of NATS, further servers may follow without a scheme
				one = strings.TrimSpace(one)
				if i > 0 && !strings.Contains(one, "://") {
					one = "nats://" + one
				}
				u, err := url.Parse(one)
				if err != nil || u.Host == "" {
					return false
				}
				if _, secret := u.User.Password(); secret || strings.Contains(strings.ToLower(u.RawQuery), "password") {
					return false
				}
				switch u.Scheme {
				case "nats", "tls":
					if u.User != nil {
						return false
					}
				case "postgres", "postgresql":
				default:
					return false
				}
			}
			return true
		})
	k.secret = true
	return k
}

// advertised is a host, with or without a port, or nothing.
func advertised() kind[string] {
	return words("a host name or address, with or without a port", "Such as node-1.internal, or 10.0.0.1:7400.",
		func(s string) bool { return !strings.ContainsAny(s, "/ @") })
}
