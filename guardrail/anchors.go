package guardrail

import (
	"slices"
	"sync"
)

// A detector looks at a place where four bytes of a text, in any case, are its
// anchor. The anchors are few and rare, so that the scan costs a multiplication
// and a bit test a byte.
type detector func(text string, i int) (Finding, bool)

// kindKey is the anchor of manifests.
var kindKey = anchorKey("kind", 0)

// columnKeys are the anchors of the words in columns.
var columnKeys = func() map[uint32]bool {
	keys := map[uint32]bool{}
	for name := range columns {
		keys[anchorKey(name+"    ", 0)] = true
	}
	return keys
}()

func anchorKey(s string, i int) uint32 {
	return (uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24) | 0x20202020
}

// anchorSlots is sized so that few of them are taken and all of them stay in the
// first-level cache: 8 KB.
const anchorSlots = 1 << 16

func anchorHash(key uint32) uint32 { return key * 0x9e3779b1 >> 16 }

func anchorRehash(key uint32) uint32 { return (key ^ key>>15) * 0x85ebca6b >> 16 }

// anchorBits has a bit set for the hash of every anchor's key, once anchors was
// called; nobody else writes to it. anchorAgain is the same for another hash, which
// is looked at where the first one fits: it saves most of the look-ups in vain.
var anchorBits, anchorAgain [anchorSlots / 32]uint32

// anchors returns the detectors by their anchors' keys, in the order in which they
// are asked: ours first, since they know what of a finding to leave readable. The
// table is made when it is needed first: most commands never look for a secret.
var anchors = sync.OnceValue(func() map[uint32][]detector {
	m := make(map[uint32][]detector, 2048)
	add := func(sets []string, find detector) {
		for _, key := range anchorKeys(sets) {
			m[key] = append(m[key], find)
		}
	}
	for _, sh := range shapes {
		add(prefixSets(sh.prefix), sh.find)
	}
	add(prefixSets("eyj"), findJWT)
	add(prefixSets("://"), findURLPassword)
	add(prefixSets("@tcp"), findDSN)
	add(prefixSets("@uni"), findDSN)
	add(prefixSets("hin:"), findOracle)
	add(prefixSets("auth"), findAuthorization)
	add([]string{" ", "-", "up", visible}, findFlag)
	add(prefixSets(" -a "), findFlag)
	add(prefixSets(" -w "), findFlag)
	add(prefixSets("ate-"), findPuTTY)
	add(prefixSets(" --u"), findFlag)
	add(prefixSets(" --p"), findFlag)
	add(prefixSets("pass"), findNetrc)
	add(prefixSets(":543"), findPgpass)
	add(prefixSets(":643"), findPgpass)
	add(prefixSets(":*:"), findPgpass)
	add(prefixSets("--be"), findPrivateKey)
	add(prefixSets("--en"), findPrivateKeyEnd)
	for _, a := range []string{"pass", "pwd", "secr", "toke", "_key", "-key", "ikey", "skey", "tkey", "ekey", "dkey", "nkey", "gkey", "rkey", "hkey"} {
		add(prefixSets(a), findAssigned)
	}
	for _, a := range cueAnchors {
		add(prefixSets(a.text), findTold(a.text, a.back))
	}
	add([]string{"p", "w", " ,:?(", visible}, findTold("pw", 0))
	for _, a := range []string{"pass=", "pass:", "pw=", "_pw=", "_pw:", "_pw ", "psk=", "\"psk", "key_b", "pass\"", "pw ="} {
		add(prefixSets(a), findAssigned)
	}
	add(prefixSets("pass"), findPiped)
	for _, a := range []string{"sk_", "pat_", "pat-", "key_", "key-", "tok_", "tok-", "tkn_", "tkn-", "ken_", "ken-", "api_", "api-", "ret_", "ret-", "ive_"} {
		add(prefixSets(a), findIssued)
	}
	for _, a := range []string{":$1$", ":$5$", ":$6$", ":$y$", ":$2a", ":$2b", ":$2y"} {
		add(prefixSets(a), findHash)
	}
	for _, a := range []string{"comm", "/use", "sudo"} {
		add(prefixSets(a), findSpoken)
	}
	add([]string{":", "a", "a", "abcdefghijklmnopqrstuvwxyz"}, findTelegram)
	add(prefixSets("cook"), findCookie)
	add(prefixSets("auth"), findBasicAuth)
	add(prefixSets(" by "), findQuotedAfter("identified by "))
	add(prefixSets("ord "), findQuotedAfter("password "))
	add(prefixSets("ing "), findQuotedAfter("convertto-securestring "))
	addRules(add)
	for key := range columnKeys {
		if m[key] == nil {
			m[key] = []detector{}
		}
	}
	m[kindKey] = append(m[kindKey], func(string, int) (Finding, bool) { return Finding{}, false }) // see Secrets
	for key := range m {
		h := anchorHash(key)
		anchorBits[h>>5] |= 1 << (h & 31)
		h = anchorRehash(key)
		anchorAgain[h>>5] |= 1 << (h & 31)
	}
	return m
})

// prefixSets is the anchor of a prefix; a shorter one than four bytes is followed
// by anything that can be seen, or a space.
func prefixSets(prefix string) []string {
	var sets []string
	for i := range len(prefix) {
		sets = append(sets, prefix[i:i+1])
	}
	for len(sets) < 4 {
		sets = append(sets, visible)
	}
	return sets
}

var visible = func() string {
	var b []byte
	for c := byte(' '); c < 0x7f; c++ {
		b = append(b, c)
	}
	return string(b)
}()

// anchorKeys are the keys of what the first four sets spell, each once.
func anchorKeys(sets []string) []uint32 {
	keys := []uint32{0}
	for at, set := range sets[:4] {
		next := make([]uint32, 0, len(keys)*len(set))
		for _, key := range keys {
			for i := range len(set) {
				next = append(next, key|uint32(set[i]|0x20)<<(8*at))
			}
		}
		slices.Sort(next)
		keys = slices.Compact(next)
	}
	return keys
}
