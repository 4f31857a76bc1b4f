package guardrail

import (
	"strings"
	"testing"
)

// Wherever a password stands, the password goes and the rest stays readable.
func TestPasswordsInPlaces(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"postgres", "postgres://app:wombat@db.internal:5432/x", "postgres://app:[redacted:url-password]@db.internal:5432/x"},
		{"mongodb", "mongodb+srv://app:wombat@c0.example.net/x?w=1", "mongodb+srv://app:[redacted:url-password]@c0.example.net/x?w=1"},
		{"amqp", "amqp://app:wombat@mq:5672/%2f", "amqp://app:[redacted:url-password]@mq:5672/%2f"},
		{"redis", "rediss://:wombat@cache:6380/0", "rediss://:[redacted:url-password]@cache:6380/0"},
		{"escaped password", "mysql://app:wom%2Fbat@db/x", "mysql://app:[redacted:url-password]@db/x"},
		{"SQLAlchemy", `create_engine("postgresql+psycopg2://app:wombat@db/x")`, `create_engine("postgresql+psycopg2://app:[redacted:url-password]@db/x")`},

		{"MySQL DSN", `sql.Open("mysql", "app:wombat@tcp(db:3306)/orders?parseTime=true")`, `sql.Open("mysql", "app:[redacted:connection-password]@tcp(db:3306)/orders?parseTime=true")`},
		{"MySQL socket", "DSN=app:w@m:bat@unix(/run/mysqld.sock)/orders", "DSN=app:[redacted:connection-password]@unix(/run/mysqld.sock)/orders"},
		{"ADO.NET", "Server=db,1433;Database=orders;User Id=app;Password=wombat;Encrypt=True", "Server=db,1433;Database=orders;User Id=app;Password=[redacted:connection-password];Encrypt=True"},
		{"ADO.NET, spaced", `"Data Source = db; Initial Catalog = orders; Uid = app; Pwd = wombat"`, `"Data Source = db; Initial Catalog = orders; Uid = app; Pwd = [redacted:connection-password]"`},
		{"ADO.NET, quoted", "Server=db;Uid=app;Pwd='wom;bat';", "Server=db;Uid=app;Pwd='[redacted:connection-password]';"},
		{"ADO.NET, password first", "Password=wombat;Server=db;Uid=app", "Password=[redacted:connection-password];Server=db;Uid=app"},
		{"Npgsql", "Host=db;Username=app;Password=wombat;Database=orders", "Host=db;Username=app;Password=[redacted:connection-password];Database=orders"},
		{"JDBC, SQL Server", "jdbc:sqlserver://db:1433;user=app;password=wombat;encrypt=true", "jdbc:sqlserver://db:1433;user=app;password=[redacted:connection-password];encrypt=true"},
		{"JDBC, MySQL", "jdbc:mysql://db/orders?user=app&password=wombat&useSSL=false", "jdbc:mysql://db/orders?user=app&password=[redacted:connection-password]&useSSL=false"},
		{"JDBC, Oracle", "jdbc:oracle:thin:scott/wombat@//db:1521/x", "jdbc:oracle:thin:scott/[redacted:connection-password]@//db:1521/x"},
		{"libpq", `psql "host=db user=app password=wombat dbname=orders"`, `psql "host=db user=app password=[redacted:connection-password] dbname=orders"`},
		{"libpq, quoted", "host=db user=app password='wom bat' dbname=orders", "host=db user=app password='[redacted:connection-password]' dbname=orders"},
		{"token alone", "git clone https://" + random36 + "@git.example.com/x.git", "git clone https://[redacted:url-password]@git.example.com/x.git"},
		{"user alone", "git clone ssh://continuous-integration@git.example.com/x.git", "git clone ssh://continuous-integration@git.example.com/x.git"},
		{"key in a query", "GET /x?key=" + random36 + "&page=2", "GET /x?key=[redacted:api-key]&page=2"},
		{"plain key in a query", "GET /x?key=customer-orders-by-month&page=2", "GET /x?key=customer-orders-by-month&page=2"},
		{"token in a query", "GET /x?access_token=" + random36 + "&page=2", "GET /x?access_token=[redacted:token]&page=2"},

		{"curl -u", "curl -s -u ada:wombat https://api.example.com/x", "curl -s -u ada:[redacted:password] https://api.example.com/x"},
		{"curl -u, quoted", `curl -u "ada:wom bat" https://api.example.com`, `curl -u "ada:[redacted:password]" https://api.example.com`},
		{"curl -u, attached", "curl -uada:wombat https://api.example.com", "curl -uada:[redacted:password] https://api.example.com"},
		{"curl --user", "curl https://api.example.com --user=ada:wombat", "curl https://api.example.com --user=ada:[redacted:password]"},
		{"curl on lines", "/usr/bin/curl https://api.example.com \\\n  -u ada:wombat", "/usr/bin/curl https://api.example.com \\\n  -u ada:[redacted:password]"},
		{"curl's proxy", "curl -U ada:wombat -x proxy:3128 https://x.org", "curl -U ada:[redacted:password] -x proxy:3128 https://x.org"},
		{"mysql -p", "mysql -u app -pwombat orders < dump.sql", "mysql -u app -p[redacted:password] orders < dump.sql"},
		{"sshpass", "sshpass -p wombat ssh ada@host", "sshpass -p [redacted:password] ssh ada@host"},
		{"docker login", "docker login -u ada -p wombat registry.example.com", "docker login -u ada -p [redacted:password] registry.example.com"},
		{"redis-cli", "redis-cli -h cache -a wombat ping", "redis-cli -h cache -a [redacted:password] ping"},

		{"basic", "Authorization: Basic YWRhOndvbWJhdA==", "Authorization: Basic [redacted:basic-auth]"},
		{"basic in curl", `curl -H 'Authorization: Basic YWRhOndvbWJhdA==' https://x.org`, `curl -H 'Authorization: Basic [redacted:basic-auth]' https://x.org`},
		{"basic in Go", `req.Header.Set("Authorization", "Basic YWRhOndvbWJhdA==")`, `req.Header.Set("Authorization", "Basic [redacted:basic-auth]")`},
		{"basic in JSON", `{\"Authorization\": \"Basic YWRhOndvbWJhdA==\"}`, `{\"Authorization\": \"Basic [redacted:basic-auth]\"}`},
		{"short bearer", "authorization: bearer a1b2c3d4e5f6g7", "authorization: bearer [redacted:bearer-token]"},
		{"token scheme", "Authorization: Token 9944b09199c62bcf", "Authorization: Token [redacted:authorization]"},
		{"no scheme", "Authorization: 9944b09199c62bcf9418ad84", "Authorization: [redacted:authorization]"},
		{"proxy", "Proxy-Authorization: Basic YWRhOndvbWJhdA==", "Proxy-Authorization: Basic [redacted:basic-auth]"},

		{".netrc", "machine api.example.com login ada password wombat", "machine api.example.com login ada password [redacted:password]"},
		{".netrc on lines", "machine api.example.com\n\tlogin ada\n\tpassword wombat\nmachine b", "machine api.example.com\n\tlogin ada\n\tpassword [redacted:password]\nmachine b"},
		{".netrc default", "default login ada password wombat\n", "default login ada password [redacted:password]\n"},
		{".pgpass", "# mine\ndb.internal:5432:orders:app:wom\\:bat\n", "# mine\ndb.internal:5432:orders:app:[redacted:password]\n"},
		{".pgpass, any port", "*:*:*:app:wombat", "*:*:*:app:[redacted:password]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, found := Redact(tt.in)
			if got != tt.want {
				t.Fatalf("Redact(%q)\n is %q\nwant %q (%v)", tt.in, got, tt.want, found)
			}
			if again, more := Redact(got); again != got {
				t.Errorf("a second pass makes %q (%v)", again, more)
			}
		})
	}
}

func TestPasswordsInPlacesLeavesAlone(t *testing.T) {
	for _, text := range []string{
		"postgres://app:${DB_PASSWORD}@db/x", "app:$PASS@tcp(db:3306)/x", "user:password@tcp(localhost:3306)/db", "ada@tcp(host)",
		"db.connect(host=host, user=user, password=password, dbname=dbname)", "host=%s user=%s password=%s dbname=%s",
		"host=db user=app self.password=wombat dbname=x", "User(username=username, email=email, password=hashed_password)", "redis(host=self.host, port=self.port, password=self.password)",
		"var server = a; var user = b; password = hash(x);", "Server=db;Uid=app;Password={0};", "Password=;Server=db;Uid=app",
		"jdbc:oracle:thin:@db:1521:x", "something thin: a/b@c",
		"curl -u ada https://x.org", `curl -u "$USER:$PASS" https://x.org`, "sort -u a:bcdef", "docker run -u 1000:1000 -p 8080:8080 app",
		"mkdir -p wombat", "mysql -p orders", "cp -a wombat there", "git push -u origin:main; curl x", "echo curl\nsort -u one:three",
		"Authorization: Bearer $TOKEN", "Authorization: Bearer <token>", `"Authorization", "Bearer "+token`, "Authorization: Basic realm", "Authorization: Basic authentication is used",
		"the Authorization header is missing here", "Authorization: Digest username=ada", "authorization, 1234567890.1234567",
		"enter your login and password here", "the machine asks for a login and a password twice", "login: ada password: hers",
		"main.go:543:12: undefined: x", "http://db:5432/x:y:z", "at 10:5432:1", "localhost:5432:orders", "a:5432:b:c:password",
	} {
		if found := Secrets(text); len(found) > 0 {
			t.Errorf("%q: %v %q", text, found, text[found[0].Start:found[0].End])
		}
	}
}

// Each detector sees texts that break off anywhere.
func TestPasswordsInTextCutOff(t *testing.T) {
	whole := "curl -u ada:wombat x; Server=db;Uid=app;Pwd='wombat';\nAuthorization: Basic YWRhOndvbWJhdA==\n" +
		"machine a login b password wombat\ndb:5432:o:a:wombat\napp:wombat@tcp(db)/x jdbc:oracle:thin:scott/wombat@db mysql -pwombat"
	for i := range len(whole) {
		for _, f := range append(Secrets(whole[:i]), Secrets(whole[i:])...) {
			if f.Start >= f.End {
				t.Fatalf("cut at %d: %v", i, f)
			}
		}
	}
	if got, _ := Redact(whole); strings.Contains(got, "wombat") {
		t.Errorf("still there: %q", got)
	}
}
