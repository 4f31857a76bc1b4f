package consolidate

import "strings"

// aspect is what a verb with a preposition says of its subject, a bit each. Two
// verbs of one aspect say it of the same attribute.
type aspect uint16

const (
	employment aspect = 1 << iota
	home              // where a person lives
	place             // where a thing runs or is kept
	means             // what a thing uses, is made with, or somebody prefers
	role              // what a person is
	value             // what an attribute is
	appointed         // when something is to be
)

// phrase is a verb and the preposition of the slot that holds the value.
type phrase struct{ key, prep string }

// states say how something is, changes that it is so now and was otherwise before.
var (
	states = phrases(map[aspect]string{
		employment: "work:at work:for be_employ:at be_employ:by be_hire:by",
		home:       "live:in live:at be_base:in",
		place: `run:in run:on be_host:in be_host:on be_host:at be_host:by be_deploy:in be_deploy:on be_deploy:to be_store:in be_store:on
			be_locate:in live:in live:on be_track:in be_keep:in be_base:in be_move:to be_migrate:to deploy:to be_publish:to be:in be:on be_run:on be_run:in track:in keep:in store:in host:in host:on
			deploy:on listen:on`,
		means: `use: run:on be_write:in be_build:with be_build:on rely:on prefer: depend:on run: be_run:on be_base:on be_use: write:in
			build:with run:with format:with manage:with be_run:with be_test:with be_format:with be_lint:with be_manage:with
			be_deploy:with`,
		role:      "be: work:as",
		value:     "be: be_set:to default:to have:of",
		appointed: "be: be:on be:at be:in be_schedule:for be_plan:for begin:on begin:at end:on happen:on happen:at",
	})
	changes = phrases(map[aspect]string{
		employment: "join: be_hire:by be_hire:at begin:at",
		home:       "move:to settle:in",
		place:      "move:to migrate:to be_move:to be_migrate:to switch:to be_transfer:to",
		means: `switch:to migrate:to move:to upgrade:to downgrade:to change:to adopt: be_upgrade:to be_downgrade:to be_migrate:to
			be_move:to be_rewrite:in be_switch:to convert:to be_convert:to be_change:to bump:to be_bump:to`,
		role: "become: be_promote:to",
		value: `change:to move:to be_change:to be_move:to be_extend:to be_push:to be_postpone:to be_delay:to be_shift:to be_reschedule:to
			be_increase:to be_raise:to be_lower:to be_reduce:to be_bump:to be_upgrade:to increase:to rise:to drop:to be_update:to switch:to
			be_switch:to be_transfer:to be_assign:to be_adjust:to become: grow:to shrink:to slip:to`,
		appointed: `be_move:to be_push:to be_postpone:to be_delay:to be_shift:to be_reschedule:to be_change:to move:to slip:to be_reschedule:for
			be_extend:to`,
	})
)

// single are the phrases that have one value at a time without naming an
// attribute: one lives in one place.
var single = func() map[phrase]bool {
	m := map[phrase]bool{}
	for w := range strings.FieldsSeq(`live:in work:at work:for be_base:in be_locate:in report:to be_own:by be_maintain:by be_manage:by
		be_lead:by listen:on cost: weigh: belong:to expire:on expire:in default:to be_set:to be_marry:to begin:at end:at close:at open:at
		be_assign:to`) {
		m[parsePhrase(w)] = true
	}
	return m
}()

// quantified are verbs whose object is counted: two numbers of the same thing
// exclude each other. True are those of properties that change; what takes or
// contains so much may as well be two runs, or two boxes.
var quantified = map[string]bool{"need": true, "cost": true, "retry": true, "allow": true, "weigh": true, "have": false, "take": false,
	"hold": false, "keep": false, "use": false, "contain": false, "last": false, "wait": false}

func phrases(in map[aspect]string) map[phrase]aspect {
	m := map[phrase]aspect{}
	for a, list := range in {
		for w := range strings.FieldsSeq(list) {
			m[parsePhrase(w)] |= a
		}
	}
	return m
}

func parsePhrase(s string) phrase {
	key, prep, _ := strings.Cut(s, ":")
	return phrase{strings.ReplaceAll(key, "_", " "), prep}
}

// kinds are well-known names that can take each other's place, a line each. A name
// in no line is of an unknown kind. Two names of which only one is known are not
// alternatives.
var kinds = func() map[string]int {
	m := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(kindNames), "\n") {
		for n := range strings.SplitSeq(line, ",") {
			m[strings.TrimSpace(n)] = i + 1
		}
	}
	return m
}()

const kindNames = `google, microsoft, apple, amazon, meta, netflix, stripe, openai, anthropic, ibm, intel, nvidia, spotify, uber, airbnb, siemens, sap, oracle, samsung, sony, tesla, bosch
postgresql, mysql, mariadb, sqlite, mongodb, cockroachdb, dynamodb, cassandra, sql server
redis, memcached, valkey
kafka, rabbitmq, nats, sqs, pulsar
aws, gcp, azure, hetzner, digitalocean, google cloud, fly.io, heroku
npm, pnpm, yarn, bun
pip, poetry, uv, pipenv, conda
jenkins, github actions, gitlab ci, circleci, travis, buildkite, teamcity
go, rust, python, java, kotlin, typescript, javascript, ruby, scala, elixir, php, swift, c, c++, c#
vim, neovim, emacs, vscode, vs code, intellij, goland, zed, cursor, sublime
tabs, spaces
dark mode, light mode, dark theme, light theme
bash, zsh, fish
kubernetes, nomad, docker swarm, ecs
docker, podman
github, gitlab, bitbucket, gitea
jira, linear, asana, trello
slack, teams, discord, mattermost
confluence, notion
webpack, vite, rollup, esbuild, parcel
jest, vitest, mocha
pytest, unittest, nose
react, vue, svelte, angular
make, bazel, gradle, maven, cmake, just
macos, linux, windows, ubuntu, debian, fedora, arch linux
rest, graphql, grpc
json, yaml, toml, xml
prometheus, datadog, new relic
terraform, pulumi, opentofu
squash merges, merge commits, rebase merges
metric units, imperial units
coffee, tea
germany, france, spain, italy, portugal, poland, austria, switzerland, netherlands, belgium, sweden, norway, denmark, finland, ireland, uk, united kingdom, england, scotland, usa, us, united states, canada, mexico, brazil, argentina, chile, india, china, japan, korea, south korea, australia, new zealand, turkey, greece, ukraine, russia, egypt, nigeria, kenya, south africa, israel, vietnam, thailand, indonesia, singapore, czechia, hungary, romania, colombia, peru
europe, asia, africa, north america, south america, america
california, texas, florida, bavaria, ontario, catalonia`

var occupations = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`engineer developer programmer manager director teacher principal professor nurse doctor lawyer designer
		analyst scientist architect consultant student intern lead cto ceo accountant chef cook editor writer journalist researcher
		administrator contractor freelancer assistant associate partner head supervisor coordinator specialist technician electrician plumber
		pilot driver clerk cashier librarian pharmacist dentist veterinarian therapist coach trainer lecturer dean paramedic carpenter`) {
		m[w] = true
	}
	return m
}()
