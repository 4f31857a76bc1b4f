package config

import (
	"net/url"
	"strings"
)

// Store configures where knowledge is stored.
type Store struct {
	URL         string // "" stores it only in the folder of knowledge.db_path
	Next        string // engine that owners are being moved to, during a migration
	Credentials string // path of a file
	CA          string // PEM files for the connections to the engine and between nodes
	Cert        string
	Key         string
	Listen      string
	Advertise   string
	Replicas    int // 0 uses the number of servers, at most 3
	OpenOwners  int
	Folder      int // megabytes
}

func (s *Store) keys() []key {
	file := func(name string, field *string, doc string) key {
		return bind(name, field, "", optionalPath(), doc).withConsentRule(needsConsent(reachPath))
	}
	return []key{
		bind("url", &s.URL, "", engineURL(),
			"The engine that stores knowledge for all nodes: nats://a:4222,b:4222,c:4222 for NATS JetStream, postgres://host/database for "+
				"PostgreSQL 15 or later. The folder of knowledge.db_path is then a copy. Empty: knowledge is stored only in that folder. A "+
				"password comes from store.credentials, or for PostgreSQL from PGPASSWORD or a password file.").withConsentRule(needsConsent(reachAddress)),
		bind("next", &s.Next, "", engineURL(),
			"The engine to which ken migrate is moving owners. An owner that has moved is served from there. After the migration, set it as "+
				"store.url. Empty: no migration.").withConsentRule(needsConsent(reachAddress)),
		file("credentials", &s.Credentials, "The file with the credentials of NATS. Empty: none."),
		file("ca", &s.CA,
			"The PEM file of the authority that signed the certificates of the nodes, and of NATS at a tls address. Empty: the system's "+
				"authorities for NATS, and only nodes on one machine. For PostgreSQL, set sslmode and sslrootcert in store.url."),
		file("cert", &s.Cert,
			"The PEM file of this node's certificate, used for other nodes and for NATS at a tls address. It must be valid for the name "+
				"ken.node, and for server and client authentication."),
		file("key", &s.Key, "The PEM file of the certificate's key."),
		bind("listen", &s.Listen, "127.0.0.1:0", listenAddress(),
			"The address at which other nodes reach this one. An address that other machines can reach needs store.ca, store.cert and "+
				"store.key.").withConsentRule(needsConsent(reachListen)),
		bind("advertise", &s.Advertise, "", advertised(), "The host, with or without a port, that this node tells other nodes. Empty: that of store.listen, or an address of this machine.").withConsentRule(needsConsent(reachListen)),
		bind("replicas", &s.Replicas, 0, whole(0, 5), "The number of NATS servers that store each record, when Ken creates the stream: 1, 3 or 5. 0: 3, or 1 with a single server."),
		bind("open_owners", &s.OpenOwners, 16, whole(1, 100000),
			"The number of owners' stores that stay open in this process, and the maximum that are opened at once. Stores in use stay open "+
				"beyond that. An open store keeps its records and vectors in memory: see docs/scaling.md."),
		bind("folder_mb", &s.Folder, 4096, whole(1, 100000000), "The maximum size, in megabytes, of the owners' stores in this node's folder, with store.url. They are copies of what the engine has: the least recently used ones are deleted "+
			"and made again when they are needed. Open stores stay. Without store.url nothing is deleted."),
	}
}

// engineURL is the address of an engine, or empty. It can't contain a password.
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
			for i, one := range all { // for NATS, more servers may follow without a scheme
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

// advertised is a host with or without a port, or empty.
func advertised() kind[string] {
	return words("a host name or address, with or without a port", "Such as node-1.internal, or 10.0.0.1:7400.",
		func(s string) bool { return !strings.ContainsAny(s, "/ @") })
}
