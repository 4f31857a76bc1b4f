package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken/internal/console/chart"
)

//go:embed assets/*
var assetFiles embed.FS

// assetTypes are the types of what is served, by the end of the name.
var assetTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// assets is every asset with its hash, which is part of its path: a browser may keep
// it for ever, and asks anew when it is another one.
var assets = sync.OnceValue(func() map[string]bundled {
	out := map[string]bundled{}
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // it is embedded
	}
	for _, e := range entries {
		b, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			panic(err)
		}
		if e.Name() == "console.css" {
			b = append(b, chart.CSS...)
		}
		sum := sha256.Sum256(b)
		out[e.Name()] = bundled{b, hex.EncodeToString(sum[:6])}
	}
	return out
})

type bundled struct {
	bytes []byte
	hash  string
}

// assetPath is where an asset is served.
func assetPath(name string) string { return Prefix + "assets/" + assets()[name].hash + "/" + name }

func asset(v *visit) error {
	name := v.r.PathValue("name")
	a, ok := assets()[name]
	kind := assetTypes[name[max(strings.LastIndexByte(name, '.'), 0):]]
	if !ok || kind == "" {
		return notHere
	}
	h := v.w.Header()
	h.Set("Content-Type", kind)
	if v.r.PathValue("hash") == a.hash {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(v.w, v.r, "", time.Time{}, bytes.NewReader(a.bytes))
	return nil
}
