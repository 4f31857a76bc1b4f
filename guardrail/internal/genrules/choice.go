package main

// leftOut holds the rules that are not in the table, with the reasons.
var leftOut = map[string]string{
	"generic-api-key": "any value under a name such as key, auth or access, kept in bounds by a list of 1,446 words: " +
		"guardrail's own detector of assigned values does this with fewer false alarms",
	"private-key": "guardrail finds PEM blocks itself, those that are cut off too",
	"jwt":         "guardrail finds them itself; \"ey\" alone is in every other English sentence",

	"curl-auth-header":      "guardrail reads Authorization headers wherever they stand, and leaves the scheme readable",
	"curl-auth-user":        "guardrail reads the flag itself, and leaves the user readable",
	"sidekiq-sensitive-url": "guardrail finds the password of any URL, and leaves the host readable",

	"pkcs12-file":            "is about the name of a file",
	"hashicorp-tf-password":  "needs the name of the file, *.tf; guardrail's detector of assigned values has the rest",
	"kubernetes-secret-yaml": "needs the name of the file, *.yaml, and finds the first value only",

	"facebook-access-token": "no four bytes are in every token; found where one is assigned to a name that ends in token",

	"adobe-client-id":        isName,
	"asana-client-id":        isName,
	"bitbucket-client-id":    isName,
	"discord-client-id":      isName,
	"flutterwave-public-key": isName,
	"linkedin-client-id":     isName,
	"lob-pub-api-key":        isName,
	"looker-client-id":       isName,
	"mailgun-pub-key":        isName,
	"messagebird-client-id":  isName,
	"new-relic-user-api-id":  isName,
	"plaid-client-id":        isName,
	"sendbird-access-id":     isName,
	"sumologic-access-id":    isName,
}

const isName = "names an account or is meant to be public; it opens nothing"

// patterns replaces the patterns of rules for which guardrail needs a different
// one.
var patterns = map[string]struct{ pattern, why string }{
	"sourcegraph-access-token": {`(?i)\b(sgp_(?:[a-f0-9]{16}|local)_[a-f0-9]{40}|sgp_[a-f0-9]{40})` + suffix,
		"without any 40 hex digits in a text that mentions Sourcegraph, which are commits more often than not"},
	"aws-amazon-bedrock-api-key-short-lived": {`bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t[\w+/=-]*`,
		"with what follows the constant start, which is the secret"},
	"vault-service-token": {`\b(hvs\.[\w-]{90,120})` + suffix,
		"without the form before Vault 1.10, s. and 24 letters, which Go code with a receiver s is full of"},
	"slack-webhook-url": {`hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{43,56}`,
		"without the scheme in front, which is no secret"},
	"microsoft-teams-webhook": {`webhook\.office\.com/webhookb2/[a-z0-9@/-]{36,160}/IncomingWebhook/[a-z0-9]{32}/[a-z0-9-]{36}`,
		"without the tenant in front, which is no secret"},
}

// kinds maps rules to the kind that guardrail's own detectors use for the same
// secret.
var kinds = map[string]string{
	"aws-access-token":                            "aws-access-key",
	"anthropic-api-key":                           "anthropic-key",
	"anthropic-admin-api-key":                     "anthropic-key",
	"digitalocean-pat":                            "digitalocean-token",
	"github-app-token":                            "github-token",
	"github-fine-grained-pat":                     "github-token",
	"github-oauth":                                "github-token",
	"github-pat":                                  "github-token",
	"github-refresh-token":                        "github-token",
	"gitlab-deploy-token":                         "gitlab-token",
	"gitlab-pat":                                  "gitlab-token",
	"gitlab-pat-routable":                         "gitlab-token",
	"gitlab-runner-authentication-token":          "gitlab-token",
	"gitlab-runner-authentication-token-routable": "gitlab-token",
	"huggingface-access-token":                    "huggingface-token",
	"npm-access-token":                            "npm-token",
	"openai-api-key":                              "openai-key",
	"pypi-upload-token":                           "pypi-token",
	"slack-app-token":                             "slack-token",
	"slack-bot-token":                             "slack-token",
	"slack-config-access-token":                   "slack-token",
	"slack-config-refresh-token":                  "slack-token",
	"slack-legacy-bot-token":                      "slack-token",
	"slack-legacy-token":                          "slack-token",
	"slack-legacy-workspace-token":                "slack-token",
	"slack-user-token":                            "slack-token",
	"slack-webhook-url":                           "slack-webhook",
	"stripe-access-token":                         "stripe-key",
}
