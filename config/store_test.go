package config_test

import (
	"testing"

	"github.com/kenlayer/ken/config"
)

func TestEngineURL(t *testing.T) {
	for url, ok := range map[string]bool{
		"nats://a:4222":                        true,
		"nats://a:4222,b:4222,c:4222":          true,
		"nats://a:4222,nats://b:4222":          true,
		"tls://a:4222,b:4222":                  true,
		"nats://a, b":                          true,
		"postgres://a:5432,b:5432/ken":         true,
		"a:4222,b:4222":                        false,
		"":                                     true,
		"nats://ana:secret@a:4222":             false,
		"nats://a:4222,ana:secret@b:4222":      false,
		"nats://a:4222,ana@b:4222":             false,
		"nats://a:4222,":                       false,
		"http://a:4222,b:4222":                 false,
		"postgres://ana:secret@a/ken":          false,
		"postgres://a/ken?password=secret":     false,
		"nats://a:4222,http://b:4222/?x=1":     false,
		"postgres://a,b/ken?sslpassword=sesam": false,
	} {
		_, err := config.Parse([]byte("store:\n  url: \"" + url + "\"\n"))
		if (err == nil) != ok {
			t.Errorf("%q: %v", url, err)
		}
	}
}
