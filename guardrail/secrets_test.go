package guardrail

import (
	"encoding/base64"
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/race"
)

// Credentials of every shape. None is real; they are put together here so that
// no scanner takes this file for a leak.
const (
	random36 = "q7Rz" + "T1mXv8KpLw3NcYh6BdJg" + "5FsAe2Ui9Ok4"
	random64 = random36 + "Zx0VbQ8nMa6Hs3Gt7PwErCyD1fLj"
)

func pem(label, eol string) string {
	return "-----BEGIN " + label + "-----" + eol + random64 + eol + random64 + eol + "-----END " + label + "-----"
}

// wrapped returns a private key in base64, in lines of 76 characters.
func wrapped(eol string) string {
	key := base64.StdEncoding.EncodeToString([]byte(pem("PRIVATE KEY", "\n")))
	var lines []string
	for part := range slices.Chunk([]byte(key), 76) {
		lines = append(lines, string(part))
	}
	return strings.Join(lines, eol)
}

func TestSecrets(t *testing.T) {
	jwt := "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + random36
	for _, tt := range []struct{ name, in, want string }{
		{"AWS", "id AKIA" + "Q3EGRTZ5J7KLM2NP.", "id [redacted:aws-access-key]."},
		{"AWS secret", "aws_secret_access_key = " + random36 + "aB3/", "aws_secret_access_key = [redacted:aws-secret-key]"},
		{"Google", "key=AIza" + random36[:35], "key=[redacted:gcp-api-key]"},
		{"GitHub", "(ghp_" + random36 + ")", "([redacted:github-token])"},
		{"GitHub fine-grained", "github_pat_" + random36, "[redacted:github-token]"},
		{"GitLab", "glpat-" + random36[:20], "[redacted:gitlab-token]"},
		{"Slack", "xoxb-123456-" + random36, "[redacted:slack-token]"},
		{"Slack webhook", "https://hooks.slack.com/services/T0AB1CD2E/B0FG3HI4J/" + random36[:24], "https://[redacted:slack-webhook]"},
		{"Stripe", "sk_live_" + random36[:24], "[redacted:stripe-key]"},
		{"OpenAI", "OPENAI_API_KEY=sk-" + random36, "OPENAI_API_KEY=[redacted:api-key]"},
		{"OpenAI project", "use sk-proj-" + random36, "use [redacted:openai-key]"},
		{"Anthropic", "use sk-ant-api03-" + random36, "use [redacted:anthropic-key]"},
		{"npm", "//npm.example.com/:_authToken=npm_" + random36, "//npm.example.com/:_authToken=[redacted:npm-token]"},
		{"PyPI", "pypi-AgEI" + random64, "[redacted:pypi-token]"},
		{"JWT", "cookie " + jwt + ";", "cookie [redacted:jwt];"},
		{"bearer", "Authorization: Bearer " + random36, "Authorization: Bearer [redacted:bearer-token]"},
		{"Azure storage", "AccountName=x;AccountKey=" + random64 + "==;End", "AccountName=x;AccountKey=[redacted:azure-storage-key];End"},
		{"Azure SAS", "?sv=2024&sig=" + random36 + "aB1%2F%3D", "?sv=2024&sig=[redacted:azure-sas]"},
		{"private key", "a\n" + pem("RSA PRIVATE KEY", "\n") + "\nb", "a\n[redacted:private-key]\nb"},
		{"private key in JSON", `"k": "` + pem("PRIVATE KEY", `\n`) + `\n"`, `"k": "[redacted:private-key]\n"`},
		{"private key cut off", "-----BEGIN EC PRIVATE KEY-----\n" + random64 + "\n" + random36, "[redacted:private-key]"},
		{"private key without its start", "a b\n" + random64 + "\n" + random36 + "==\n-----END PRIVATE KEY-----\nb", "a b\n[redacted:private-key]\nb"},
		{"private key in base64", "client-key-data: " + base64.StdEncoding.EncodeToString([]byte(pem("RSA PRIVATE KEY", "\n"))) + "\nname: x", "client-key-data: [redacted:private-key]\nname: x"},
		{"private key in wrapped base64", wrapped("\n") + "\nname", "[redacted:private-key]\nname"},
		{"private key in base64 in JSON", `{"k":"` + wrapped(`\n`) + `\n"}`, `{"k":"[redacted:private-key]\n"}`},
		{"connection string", "postgres://app:v3ry-L0ng@db:5432/x", "postgres://app:[redacted:url-password]@db:5432/x"},
		{"redis without user", "redis://:v3ry-L0ng@db:6379", "redis://:[redacted:url-password]@db:6379"},
		{"two on a line", "ghp_" + random36 + " ghp_" + random36, "[redacted:github-token] [redacted:github-token]"},
		{"assignment in Go", `Password: "tr0ub4dor&3x",`, `Password: "[redacted:password]",`},
		{"assignment in a shell", "export DB_PASSWORD=tr0ub4dor99x", "export DB_PASSWORD=[redacted:password]"},
		{"assignment in YAML", "api_key: '" + random36 + "'", "api_key: '[redacted:api-key]'"},
		{"assignment in JSON", `{"client_secret": "` + random36 + `"}`, `{"client_secret": "[redacted:secret]"}`},
		{"assignment in escaped JSON", `{\"password\": \"tr0ub4dor&3x\"}`, `{\"password\": \"[redacted:password]\"}`},
		{"map key", `env["ACCESS_TOKEN"] = "` + random36 + `"`, `env["ACCESS_TOKEN"] = "[redacted:token]"`},
		{"flag", "login --password tr0ub4dor99x now", "login --password [redacted:password] now"},
		{"hex under a name that says so", `secret = "9f86d081884c7d659a2feaa0c55ad015"`, `secret = "[redacted:secret]"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, found := Redact(tt.in)
			if got != tt.want {
				t.Fatalf("Redact(%q) = %q, want %q (%v)", tt.in, got, tt.want, found)
			}
			if again, more := Redact(got); again != got {
				t.Errorf("a second pass makes %q (%v)", again, more)
			}
		})
	}
}

func TestSecretsLeavesAlone(t *testing.T) {
	for _, text := range []string{
		"--- PASS: TestPaymentsRetry2 (0.03s)", "    --- PASS: Example2Retry3 (0.00s)", "PASS: TestRetry2Times", "PASS: test_a1_Retry2", "PASS TestRetry2",
		"client-certificate-data: " + base64.StdEncoding.EncodeToString([]byte(pem("CERTIFICATE", "\n"))),
		"commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		`token = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"`,
		"github.com/x/y v1.2.3 h1:9TV9ZpLQl1jNXYvFmZuw1QyGkVhZ0Vv3p5tqv2ZyxAk=",
		`api_key = "<your key>"`, `api_key: "YOUR_API_KEY_HERE_1234"`, "OPENAI_API_KEY=sk-...", "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		"ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "AKIAIOSFODNN7EXAMPLE", `password = "${DB_PASSWORD_1}"`, "PASSWORD=$DB_PASSWORD1",
		`password := os.Getenv("DB_PASSWORD1")`, "token := lexer.NextToken2(x)", "password = cfg.Database.Password2", `"password": "Enter your password 2"`,
		`type: "password"`, `password_file: "/run/secrets/db1"`, "token_type = bearer2bearer", "postgres://user:password@localhost/db",
		"postgres://$USER:$PASS1@db", "http://[::1]:8080/@x", "https://example.com:8080/a@b", "mailto:a@b.c", `secretName: "db-credentials-2"`,
		"-----BEGIN RSA PRIVATE KEY-----", `strings.Contains(s, "-----BEGIN PRIVATE KEY-----") && other(words, here)`,
		"task-estimator-doc-link-with-a-long-class-name-1-2", ".sk-toggleable__label-arrow-with-many-words-1-2", "eyJhbGciOi and more",
		`if password == "tr0ub4dor&3x" {`, "[redacted:password]", "primary_key: user_id_2_and_more_2", "secret: `_BEARER[0]2xyz` here",
		`secret = "\u3299\ufe0f1234"`, "Token: `urn:uuid:181d4fae-7d8c-11d0-a765-00a0c91e6bf2`", "the token: see section 2.1 of RFC 6750",
	} {
		if found := Secrets(text); len(found) > 0 {
			t.Errorf("%q: %v", text, found)
		}
	}
}

// Sentences about secrets without one stay whole, and so does code that handles them.
func TestTalkOfSecretsStaysWhole(t *testing.T) {
	for _, text := range []string{
		"the password is stored hashed", "password is required", "password: ${DB_PASSWORD}", `pw = os.Getenv("DB_PASSWORD")`, "The password is wrong.",
		"The password must be at least 12 characters long.", "the password is SHA-256 hashed", "Passwords are hashed with argon2id and bcrypt.",
		"the password is base64-encoded", "the password is 8-64 characters", "password is case-sensitive", "The password for staging is in the vault.",
		"The password is auto-generated by Terraform.", "the pw is in 1Password", "password: string;", "  password: str", "password: required", "password=password,",
		"    password: Annotated[str, Field()]", "def login(user, password=None):", "this.password = password;", "self.password = pw", "const pw = input2",
		"password := readLine2", `"password": "string"`, `{"type": "password", "name": "password"}`, `<input type="password" name="password" id="password">`,
		"passphrase: the words that unlock the key", "The passphrase is stored in the vault of the team.", "PIN: 13", "the token is invalid", "The token is 32 bytes.",
		"token: string", "the API key is read from OPENAI_API_KEY", "the secret is mounted at /run/secrets/db1", "Das Passwort ist falsch.", "Das Passwort ist zu kurz.",
		"Le mot de passe est incorrect.", "La contraseña es obligatoria.", "密码是必填项。", "パスワードは必須です。", "пароль неверный", "Пароль: обязательное поле",
		"kind: Secret is what the manifest says, and data: is base64", "kind: SecretStore\nspec:\n  data: thing-number-1", "password_hash: bcrypt", "Reset your password at https://x.example.org/p/1",
		"The password is rotated every 90 days.", "The password was changed on 2024-03-01.", "password protected since v2.1.0", "pass 1 of 3", "pass: 12 fail: 0", "tests pass in 3.2s",
		"he will pass by at 5pm", "The pin is GPIO17.", "pin is 12", "exit code is 1234", "the recovery code is shown once", "Cookie: theme=dark; lang=en", "compass: north",
		"password=$(pass show db)", "--password-stdin", "--password <password>", "mysql -p orders", "PASSWORD=", "DB_PASSWORD=changeme", "password: '{{ vault_password }}'",
		`err = errors.New("password too short")`, "PASSWORD_MIN_LENGTH=12345678", "password_reset_url: https://x", "the password column is varchar(255)", "IDENTIFIED BY PASSWORD",
		"The bug is in pass 2 of the optimizer", "I pass user1 as an argument", "Passwords: see KB-1234", "ask Bob for the password to build-03", "the password of user42 is wrong",
		"token bucket is refilled at 10.5/s", "The secret to good tests is focus.", "the secret is out", "passwords are case-sensitive and UTF-8 encoded",
	} {
		if found := Secrets(text); len(found) > 0 {
			t.Errorf("%q: %v %q", text, found[0].Kind, text[found[0].Start:found[0].End])
		}
	}
}

func TestPasswordsOfLettersAlone(t *testing.T) {
	for text, secret := range map[string]string{
		"the admin password is hunterbunny": "hunterbunny", "The wifi password for guests is bluebananas.": "bluebananas", "root password is swordfish, ask Ana": "swordfish",
		"Our staging password is correcthorse!": "correcthorse!", "Remember: the passphrase is sesameopen.": "sesameopen", "The password of the NAS is pineapplepie\nThe port is 22.": "pineapplepie",
		"FTP password is Winterfell; it ends in May": "Winterfell", "My password is moonraker.": "moonraker", "The password to the vault is applepieforever": "applepieforever",
		"Ana left. The printer password is greentractor.": "greentractor", "in staging the password is dragonfruit": "dragonfruit",
	} {
		if found := Secrets(text); len(found) != 1 || text[found[0].Start:found[0].End] != secret {
			t.Errorf("%q: %v", text, found)
		}
	}
	for _, text := range []string{
		"The password is forgotten.", "the admin password is required", "The password is mandatory.", "The password is compromised, rotate it.", "the password is alphanumeric",
		"The password is lowercase.", "The password is unchanged.", "The password is elsewhere.", "The password is confidential.", "The password for staging is temporary.", "The password is whatever you set.",
		"If the password is swordfish the login fails.", "Tell me whether the password is dragonfruit", "A password is something you know.", "The problem with the password is entropies.",
		"Changing the password is tiresome.", "The password manager is Bitwarden.", "The password policy is questionable.", "the password field is plaintexted", "The password is Winterfell-like in style.",
		"The password is insecure.", "the password is incorrect", "The password is administrators' business", "every password is individual", "The password is generated by Terraform.", "The password is managed.by.vault",
		"The password is obsolete.", "The passphrase is identical.", "Rotating the password is funny business", "The password is overwritten.", "The password is forgiven", "The password of the account is mandatory", "The password is security.",
	} {
		if found := Secrets(text); len(found) > 0 {
			t.Errorf("%q: %q", text, text[found[0].Start:found[0].End])
		}
	}
}

// The search after a word like password ends within blanks here.
func TestBlanksAtTheEndOfTheReach(t *testing.T) {
	for _, in := range []string{"password %s", "password is %s", "backup codes — %s"} {
		for n := range 120 {
			for _, end := range []string{"", "x"} {
				Secrets(fmt.Sprintf(in, "a1 "+strings.Repeat("b", n)+strings.Repeat(" ", 8)+end))
				Secrets(fmt.Sprintf(in, strings.Repeat(" ", n)+end))
			}
		}
	}
}

func TestSecretsGiveRanges(t *testing.T) {
	text := "use ghp_" + random36 + " now"
	found := Secrets(text)
	if len(found) != 1 || text[found[0].Start:found[0].End] != "ghp_"+random36 {
		t.Errorf("found %v", found)
	}
}

// Sources of the standard library hold no secrets but what its tests make up.
func TestFewFalseAlarms(t *testing.T) {
	bytes, found := 0, 0
	for _, dir := range []string{"net/http", "encoding", "crypto/x509", "go", "text", "database", "os"} {
		filepath.WalkDir(filepath.Join(build.Default.GOROOT, "src", dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			src, err := os.ReadFile(path)
			if err != nil {
				return nil
			}
			bytes += len(src)
			for _, f := range Secrets(string(src)) {
				t.Logf("%s: %s %.40q", path, f.Kind, src[f.Start:f.End])
				found++
			}
			return nil
		})
	}
	if bytes == 0 {
		t.Skip("the sources of the standard library are not installed")
	}
	if found > 2 {
		t.Errorf("%d findings in %d bytes of sources without secrets", found, bytes)
	}
}

// What begins again and again is read once, and not to its end for each beginning: the
// square of their number would take hours here.
func TestTextsThatBeginAgainAndAgain(t *testing.T) {
	race.SkipLong(t)
	for _, begins := range []string{"-----BEGIN PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\n", "-----BEGIN EC PRIVATE KEY-----\nAAAA\n",
		"kind: Secret ", "kind: Secret\ndata:\n a: b\n", "kind: Secret\ndata:{", "Cookie: a=b; ", "echo x | sudo -S ", "a:b | chpasswd ", "/user:a community a "} {
		if found := Secrets(strings.Repeat(begins, 4_000_000/len(begins))); len(found) != 0 {
			t.Errorf("%d secrets in %q", len(found), begins)
		}
	}
	each := "kind: Secret\ndata:\n  a: c2VjcmV0\n  b: aGlkZGVu\n"
	if found := Secrets(strings.Repeat(each, 10_000)); len(found) != 20_000 {
		t.Errorf("%d values of 20,000 are found in manifests that nothing separates", len(found))
	}
	if found := Secrets(strings.Repeat(each+"---\n", 10_000)); len(found) != 20_000 {
		t.Errorf("%d values of 20,000 are found in manifests", len(found))
	}
	cut := "-----BEGIN EC PRIVATE KEY-----\n" + random64 + "\n"
	if text, _ := Redact(cut + pem("PRIVATE KEY", "\n")); text != "[redacted:private-key]\n[redacted:private-key]" {
		t.Errorf("a key that is cut off, and one behind it: %q", text)
	}
}

func FuzzSecrets(f *testing.F) {
	for _, s := range []string{"ghp_" + random36, "a://b:c1d2e3@f", pem("PRIVATE KEY", "\n"), `password="tr0ub4dor&3x"`, "-----END PRIVATE KEY-----", "--password\\\"\\", "pwd:\"",
		"curl -u a:wombat", "a:wombat@tcp(b)", "Server=a;Uid=b;Pwd='", "machine a login b password c1d2", "a:5432:b:c:wombat", "Authorization: Basic YTpi",
		"cloudflare: " + random36, "dropbox, =>", "xoxe.xoxb-1-", "the password is a1b2c3", "kind: Secret\ndata:\n a: b1b2b3\n", "kind: Secret {data:{\"a\":\"b\"",
		"pw: ", "x as the password", "echo 'a:b' | chpasswd", "htpasswd -b a b c", "Cookie: a=", "<password>x", "pass=", "credentials: a / b1234", "echo x1 | sudo -S"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		redacted, found := Redact(text)
		last, rest := 0, len(text)
		for _, x := range found {
			if x.Kind == "" || x.Start < last || x.End <= x.Start || x.End > len(text) {
				t.Fatalf("Secrets(%q): %v", text, found)
			}
			last = x.End
			rest += len("[redacted:]") + len(x.Kind) - (x.End - x.Start)
		}
		if len(redacted) != rest {
			t.Errorf("Redact(%q) = %q", text, redacted)
		}
	})
}

func ExampleRedact() {
	text, found := Redact("connect to postgres://app:s3cr3t-5ive@db/orders")
	fmt.Println(text)
	fmt.Println(found[0].Kind)
	// Output:
	// connect to postgres://app:[redacted:url-password]@db/orders
	// url-password
}
