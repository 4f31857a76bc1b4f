package finding

import "testing"

func TestOutside(t *testing.T) {
	known, unknown := &project{root: "/home/ada/pay"}, &project{}
	for name, want := range map[string][2]bool{ // with the root known, and unknown
		"store/log.go":           {false, false},
		".github/CODEOWNERS":     {false, false},
		".git/config":            {true, true},
		"../other/a.go":          {true, true},
		"":                       {true, true},
		".":                      {true, true},
		"/home/ada/other/a.go":   {true, false},
		"/tmp/a.go":              {true, true},
		"/private/var/folders/x": {true, true},
		"/etc/hosts":             {true, true},
		"/proc/cpuinfo":          {true, true},
		"~/.bashrc":              {true, true},
		"$HOME/a":                {true, true},
		"C:/pay/a.go":            {true, false},
	} {
		if got := [2]bool{known.outside(name), unknown.outside(name)}; got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

func TestRelative(t *testing.T) {
	p := &project{root: "/home/ada/pay"}
	for name, want := range map[string]string{
		"/home/ada/pay/store/log.go": "store/log.go", "/home/ada/payments/a.go": "/home/ada/payments/a.go", "./a/../b.go": "b.go", `store\log.go`: "store/log.go",
		"/home/ada/pay": "/home/ada/pay", "": "",
	} {
		if got := p.relative(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestSensitive(t *testing.T) {
	for name, want := range map[string]bool{
		".env": true, "web/.env.local": true, "prod.env": true, "certs/server.key": true, "a.pem": true, "id_rsa": true, ".aws/credentials": true, ".npmrc": true,
		"infra/main.tfstate": true, "secrets.yaml": true,
		".env.example": false, "environment.go": false, "keys.go": false, "secrets_test.go": false, "docs/credentials-rotation.md": false, "store/log.go": false,
	} {
		if got := isSensitive(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// An agent that only runs commands still says where it works.
func TestRootOfCommands(t *testing.T) {
	s := newScript().call("shell", `{"command":["bash","-lc","go test ./..."],"workdir":"/home/ada/pay/web"}`, "x").
		call("shell", `{"command":["bash","-lc","cd /home/ada/pay/store && go test ."],"workdir":"/home/ada/pay"}`, "x")
	if got := rootOf(&s.Transcript, Tools{}); got != "/home/ada/pay" {
		t.Errorf("%q", got)
	}
	if got := rootOf(&newScript().Transcript, Tools{}); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
