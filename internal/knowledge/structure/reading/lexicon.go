package reading

import (
	"cmp"
	"strings"
	"sync"

	"github.com/kenlayer/ken/internal/analysis"
)

// class is a set of properties that the rules know about a word.
type class uint32

const (
	common      class = 1 << iota // too common to be a name without more
	function                      // a function word: no part of a noun phrase
	determiner                    // the, our, this: a noun phrase follows
	first                         // I, my, me
	plural                        // we, our, us
	second                        // you, your
	third                         // he, she, they, him
	neuter                        // it, this, that as a subject
	auxiliary                     // is, has, must: a finite verb without a meaning of its own
	verb                          // a base form that can begin an order
	finite                        // another form of a verb
	adjective                     // does not say which thing is meant: new, main
	calendar                      // days and months
	product                       // a known product, written in any case
	hedge                         // may, sometimes, probably
	negative                      // not, never, without
	label                         // a word before a colon that is no speaker: note, fix
	past                          // an irregular past: went, was
	preposition                   // in, with, of
	generic                       // a common word that is no name even if records have it
	weakCue                       // a weak hint at an aspect
	relating                      // the first word of a phrase that expresses a relation
)

// entry is what the lexicon holds about a word.
type entry struct {
	class  class
	aspect uint8 // index into aspects; 0 is none
	head   uint8 // index into heads plus 1; 0 is none
	drop   bool  // a head that is not part of the name: "the payments service"
}

func (e entry) is(c class) bool { return e.class&c != 0 }

// lexicon holds every word that a rule knows, so that each word is looked up once.
var lexicon = sync.OnceValue(func() map[string]entry {
	m := make(map[string]entry, 2600)
	add := func(words string, set func(*entry)) {
		for w := range strings.FieldsSeq(words) {
			e := m[w]
			set(&e)
			m[w] = e
		}
	}
	for _, l := range lists {
		add(l.words, func(e *entry) { e.class |= l.class })
	}
	for name := range productIndex().of {
		if e := m[name]; len(name) > 2 && !strings.Contains(name, " ") && e.class == 0 && !analysis.IsStopWord(name) && !number(name) && !wordsToo[name] {
			add(name, func(e *entry) { e.class |= product })
		}
	}
	for w := range relations() {
		add(w, func(e *entry) { e.class |= relating })
	}
	for i, h := range heads {
		add(h.kept, func(e *entry) { e.head = uint8(i + 1) })
		add(h.dropped, func(e *entry) { e.head, e.drop = uint8(i+1), true })
	}
	for i, a := range aspects {
		add(a.cues, func(e *entry) {
			e.aspect = cmp.Or(e.aspect, uint8(i+1))
		})
	}
	return m
})

// commonWords are words that are in texts of every kind, and sometimes names of
// things: files, commands, products, columns. The word alone does not tell which is
// meant.
const commonWords = `
	ability able access adr adrs rfc account action activity add address admin advice agent agents air alert alerts amount answer answers api apis app application applications apps archive area args
	argument art article assistant attempt author auth avatar backend backup bar base batch bit block blocks blog board body book books boot bot box branch branches break bridge browser buffer bug bugs build builds
	bundle button bytes cache call calls car card cards care case cases cat category cell chain chance change changes channel chapter character chart chat check checks child choice class classes cli
	click client clients clock cloud code codes collection color column columns command commands comment comments commit commits community company component components computer concept condition config configs
	configuration connection connections console constraint container containers content contents context contract control conversation copy core cost count country course cpu create cron css csv current customer
	customers cut cycle daily dashboard data database databases date dates day days deadline deal debug decision decisions default defaults delete delta demo dependencies dependency deploy deployment
	deployments design detail details dev developer developers device diff difference dir directory disk doc docs document documentation documents dog domain door draft drive driver drop edge edit editor effect
	effort email emails empty end endpoint endpoints engine entity entries entry env environment environments error errors eval event events everything example examples exit experience export
	face fact facts failure family feature features feedback feeling field fields file files filter fix flag flags flow flush focus folder folders food form format forms frame framework friend friends front frontend
	function functions future gallery game games gap gate gateway get git goal goals grid group groups guard guide handle handler hash head header health help history home hook hooks
	host hosts hour hours house html http https icon id idea ideas identity ids image images impact import in index info input inputs install instance instances int integration interface internet
	interval io ip issue issues item items iteration job jobs join json junk key keys kind knowledge label language languages last latency layer layout lead level levels lib library libraries life light like limit limits line lines link
	links list lists live load local location lock log logic login logs look loop love machine mail main manager map master match math matter memory menu message messages metadata method methods metric metrics
	middleware migration migrations mind minute minutes mode model models module modules moment money monitor month months morning move movie movies music name names navbar navigation need
	network news night node nodes none note notes notification number numbers object objects office on one operation operations operator option options order output outputs owner owners package packages
	page pages pair panel parent park part parts party pass password passwords patch path paths pattern patterns pdf people performance period permission permissions person phone photo photos picture piece pipeline place
	plan plans platform play plugin plugins point points policy pool port portfolio post posts power pr practice present price primary print prior priority probability problem problems process processes
	prod product production products profile program progress project projects prompt proof proxy public pull push put queries query question questions queue quick quote race ram range rate raw read readme reason
	record records ref reference refs region registry regression release releases reload remote repo report reports repository repositories request requests research reset resource
	resources response responses rest restart result results return review reviews risk role roles root round route router routes row rows rule rules run runner runs runtime sample save schedule schema school scope screen
	script scripts sdk search second secret secrets section security seed select self seo server servers service services session sessions set sets setting settings setup shape share shell shop show side sign signal site sites size skill skills
	sleep slot small snapshot socket software solution song sort source sources space spec speed sprint sql staff stage staging standard start state states statement static stats status step steps stop storage store stores
	story stream string strings structure student stuff style sub subject summary sun support surface swap sync system systems tab table tables tag tags talk target targets task tasks team teams technique template
	templates term terminal terms test tester testing tests text theme thing things think thought thread threads ticket tickets time timeline times timing tip title today token tokens tool tools top topic total touch town trace
	track traffic train transaction transactions tree trigger trip true trust try turn type types ui unit units update updates upgrade upload url urls usage use user users ux valid validation value values var variable version versions
	video view views virtual volume wait walk wall watch water way ways web website week weeks wiki window windows wire word words work worker workers workflow workflows workshop workspace world wrapper write xml yaml year years zone
	accuracy area balance calculation card cards coin concept cosine dice die event events example formula independence mistake outcome probability problem quiz score sides study topic triangle understanding
	ai cd ci cors crud db dns dom eof fk gpu gui ide iot jwt kpi lan ml mvp nlp null oauth ok orm os pc pk qa ram rbac rest rfc saas sla sms smtp ssh sso ssl tcp tls todo tti udp utf uuid vm vpn wasm wcag wip
	anybody anything best bunch couple evening everybody everyone fun half hand hands heart hope kid kids kind luck man mom dad men nothing someone something sense smile somewhere spot tons tough vibes woman women`

// wordsToo are names of products that are also words, so that they need a capital.
var wordsToo = analysis.Set(`argo black bun celery claude compose consul couch cursor dart drone eclipse electron envoy express flux flutter harbor helm istio kong
	lambda linear locust loki mocha mise named nest ninja nix nomad notion obsidian phoenix plaid poetry prefect presto puma pulsar rabbit rails
	railway react remix render rocky rollup ruby rust scala sentry slack snowflake solid sonar spring squid stripe swift temporal tilt vault
	varnish yarn zed zig zoom java python perl julia vim angular asana babel biome caddy cargo clippy cypress discord gemini intercom insomnia
	jest kube miro postman prom remote trello bind hive beam bash composer bundler vagrant packer alpine fedora arduino asterisk dynamo drizzle
	iceberg gmail mastodon hass influx scylla valkey tempo astro buildkite rancher`)

// genericWords are nouns of any text about a project. A thing with such a name is
// always called by more words than that. The other common words ("search",
// "scheduler", "reports") are names where a rule or a dependency is about them, or if
// records have them already.
const genericWords = `
	main test tests tester testing file files data code codes coding error errors thing things system systems service services user users value values case cases way ways time times
	set sets get run runs use usage put call calls change changes fix update updates check checks build builds start stop open close add edit work works try turn look play show talk talks need needs help
	love like live life light match matter mind move need read write save load join pull push cut drop hit wait walk watch win sort split start switch select reset reload
	name names type types list lists line lines key keys number numbers word words text title part parts place point points piece problem problems question questions answer answers reason result results
	step steps side sense kind level levels state states status end info input inputs output outputs item items object objects detail details example examples option options issue issues bug bugs
	feature features function functions class classes method methods module modules component components package packages lib library libraries application applications app apps api apis project projects
	program programs product products production prod environment environments env version versions release releases server servers client clients database databases db table tables row rows column columns
	field fields record records entry entries entity entities folder folders directory dir path paths process processes machine device devices web url urls host hosts http https ip io id ids ui ux
	json xml yaml csv html css sql pdf cli sdk cpu ram tool tools team teams person people man men woman women kid kids child friend friends family mom dad guy day days week weeks month months year years
	hour hours minute minutes second seconds night morning evening today date dates moment period past future current daily home house room
	everything everybody everyone anything anybody nothing someone something somewhere one none null true false yes note notes off on not
	string strings int variable var variables arg args argument parameter parameters index instance instances interface integration implementation language languages framework frameworks format formats
	request requests response responses command commands script scripts design plan plans idea ideas goal goals rule rules reference example task tasks topic topics effort effect impact difference amount count size sizes length
	rate range risk chance choice condition context content contents control cost country course area base block blocks board body box bit background benefit best couple bunch half top front back bottom
	break copy create debug delete deploy deploys deployment deployments hash import install limit limits print restart return share store touch trust upgrade commit commits comment comments empty demo default defaults
	delta dependency dependencies dev developer developers decision decisions doc docs documentation fact facts failure config configs configuration location mistake operation operations outcome pair present practice
	prior priority primary performance public quick raw repo repository repositories security self spec timing understanding valid validation virtual world deal cat dog wall water sun town trip story sleep movie movies
	music feeling experience knowledge history lead manager math mind party power prompt proof school student song study term terms theme thought vm weather win
	role action activity access ability able approach attempt advice support standard structure stuff subject summary style string solution situation scope section sections set setup setting settings
	page pages view views link links image images icon button buttons form forms element node nodes group groups map mode model models layer layers line log logs loop logic feedback focus force
	new old good bad real important trouble luck fun hand hands heart hope smile spot tons tough vibes use business company customer customers member members owner owners people author
	ai cd ci cors crud dns dom eof fk gpu gui ide iot jwt kpi lan ml mvp nlp oauth ok orm os pc pk qa rbac rest rfc saas sla sms smtp ssh sso ssl tcp tls todo tti udp utf uuid vm vpn wasm wcag wip`

// Common reports whether a word is too common to be a name, even if records have it:
// "go", "set", "main", "service". name is in the form of analysis.Entity. Words of one
// letter, numbers, verbs, days and function words are common, too; names of several
// words never are. A noun that is also used as a name ("search", "orders") is not: it
// is a name once a record has it.
func Common(name string) bool {
	if len(name) < 2 || number(name) {
		return true
	}
	e := lexicon()[name]
	if e.is(generic | function | finite | past | adjective | calendar | label) {
		return true
	}
	return e.is(verb) && !e.is(common) || !e.is(common) && analysis.IsStopWord(name)
}

// isUsual reports whether a word is no name unless something else says so. Common
// words and nouns in texts of every kind are usual.
func isUsual(name string) bool { return Common(name) || lexicon()[name].is(common) }

// number reports whether s consists of digits, dots and commas; also 3rd and v2.
func number(s string) bool {
	if len(s) > 1 && s[0] == 'v' {
		s = s[1:]
	}
	digits := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '.' || c == ',' || c == '%' || c == ':' || c == '$' || c == '+':
		default:
			if digits == 0 || len(s)-i > 2 {
				return false
			}
		}
	}
	return digits > 0
}

// lists holds the words of each class.
var lists = []struct {
	class class
	words string
}{
	{common, commonWords},
	{generic, genericWords},
	{weakCue, weakCues},
	{product, products},
	{function | determiner, `the a an this that these those each every any all some no both either neither another such`},
	{function | determiner | first, `my mine`},
	{function | determiner | plural, `our ours`},
	{function | determiner | second, `your yours`},
	{function | determiner | third, `his her hers their theirs`},
	{function | determiner | neuter, `its`},
	{function | first, `i me myself i'm i've i'd i'll im ive`},
	{function | plural, `we us ourselves we're we've we'd we'll let's`},
	{function | second, `you yourself you're you've you'd you'll`},
	{function | third, `he she they him them himself herself themselves he's she's they're they've everyone everybody someone somebody anyone nobody people`},
	{function | neuter, `it itself it's there there's that's this`},
	{function, `who whom whose which what when where why how whether if unless because since although though while until once than as so then and or but nor yet plus also too very
		just only even still already again ever maybe perhaps please really actually basically currently now today yesterday tomorrow later soon here
		not never always often sometimes usually not don't doesn't didn't isn't aren't wasn't weren't can't cannot couldn't won't wouldn't shouldn't mustn't haven't hasn't hadn't
		yep yup yeah yay nope nah sure haha hmm woohoo wow aww ooh hello congrats thank anytime btw fyi ah oh ugh hm hmm mhm uh um eh huh whoa whew phew tbh imo imho afaik ps whoever whatever whichever wherever yikes oops ouch duh lol haha hehe cheers ta k kk alright anyways anyway
		bye goodbye greetings sorry fwiw pls plz thx np gosh damn dude nvm iirc idk omg argh meh cos coz gonna wanna gotta kinda sorta dunno till heads-up
		there'll that'll it'll he'll she'll they'll who's what's where's how's here's there'd y'all everything's nobody's one's
		more most much many few less least lot lots etc e.g i.e eg ie vs via yes no ok okay hey hi wow oh well thanks hence thus therefore however instead rather otherwise
		quatsch vergiss vergesst merkt oublie oubliez olvida olvide olvidad esquece esqueça
		one two three four five six seven eight nine ten`},
	{function | preposition, `in on at by for from into of onto to with about against across after before behind below above between through during under over within without
		toward towards upon per around near off out up down along despite except inside outside like beyond among`},
	{function | auxiliary, `is are was were be been being am has have had having do does did doing can could should would will shall may might must isn't aren't wasn't weren't doesn't don't
		didn't hasn't haven't hadn't can't cannot couldn't won't wouldn't shouldn't mustn't shan't needn't gets got`},
	{finite, `decides approves uses used using needs needed requires required depends depended relies relied runs ran calls called imports imported owns owned maintains maintained blocks blocked feeds fed notifies
		notified informs informed publishes published stores stored reads wrote writes written stays stayed keeps kept gives gave takes took makes made goes went comes came says said thinks thought
		becomes became lives lived works worked means meant holds held returns returned ships shipped lands landed adds added moves moved exists serves served sits carries resolves gets got
		provides provided supports supported includes included contains contained handles handled talks waits belongs lets loads renders declares drives answers inherits
		loves loved likes liked hates wants wanted enjoys enjoyed knows knew helps helped looks looked feels felt seems seemed brings brought starts started begins began ends ended shows showed
		sends sent receives received creates created builds built replaces replaced remains remained leads led listens connects connected queries wraps subscribes consumes emits enforces prevents
		applies leaves left found finds set sets hits splits covers exposes ensures breaks broke changes changed lacks wins fires`},
	{verb, verbs},
	{adjective, `new old current main whole entire existing other same own first second third last next single only best good great bad big small large little long short high low full real actual
		original initial final current latest recent previous early late early certain specific particular general common different similar various several key core important simple basic
		complex easy hard major minor given right wrong overall average total main personal favorite favourite upcoming following above below whole missing separate multiple responsive fresh amazing awesome local remote global remaining deeper visible existing obvious honest known narrow wide clean thin tiny hidden safe silent further additional possible necessary available`},
	{calendar, `montag dienstag mittwoch donnerstag freitag samstag sonntag montags dienstags mittwochs donnerstags freitags samstags sonntags lundi mardi mercredi jeudi vendredi samedi dimanche
		lunes martes miércoles jueves viernes sábado domingo segunda-feira terça-feira quarta-feira quinta-feira sexta-feira mon tue tues wed thu thurs fri uhr monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays weekend weekends january february march april may june
		july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec am pm utc cet est pst gmt christmas easter thanksgiving halloween week month year day`},
	{hedge, `may might sometimes optionally possibly perhaps maybe could would probably potentially occasionally can optional someday eventually`},
	{negative, `not no never without don't doesn't didn't isn't aren't wasn't weren't can't cannot couldn't won't wouldn't shouldn't mustn't neither nor hardly nothing nicht kein keine nie niemals`},
	{past, `was were went had did been ran came saw got made took gave felt thought knew told said left found kept began wrote read met bought brought became built caught chose drank drove ate fell
		flew forgot grew heard held lost meant paid rode rose sang sat sent shook slept spent spoke stood swam taught threw understood woke wore won had've gone done seen`},
	{label, `note notes warning important todo fixme fix fixed bug caution tip hint decision agreed summary context status problem solution question answer example reminder update ps nb rule rules
		policy constraint fact goal result results conclusion observation proposed accepted reason step steps info plan remember background issue task output input error chapter section`},
}

// verbs are verbs in their base form, with which an order begins.
const verbs = `want use deploy run call build create make add remove delete drop keep keep put send write read open close start stop restart merge push pull commit rebase squash release ship roll rollback
	avoid ensure check test verify validate update upgrade downgrade bump pin install configure set enable disable store save log print return include exclude provide give show explain answer respond reply
	format cite mention ask tell remind remember forget treat prefer allow deny forbid require need depend rely expose share skip ignore follow apply change modify edit touch rename move copy replace
	rotate encrypt sign hash limit restrict bypass commit hardcode mix import export wait block go do get take leave let try see look consider document review approve assign schedule book
	say speak talk translate list generate suggest offer feed notify publish introduce choose pick adopt split extract own handle break assume trust expire retry cache query connect access
	put refer rank order sort paginate render load mount reset migrate back seed hand ping page escalate contact email call invite describe summarize summarise highlight focus begin end confirm reduce improve increase decrease optimize optimise debug handle manage implement integrate refactor monitor prevent identify detect fetch display double-check doublecheck`

// heads are nouns that tell the type of the thing that a noun phrase names. Those in
// kept are part of the name ("staging database", "release checklist"). Those in
// dropped are not ("the payments service" is payments), unless the rest is common.
var heads = []struct {
	typ           Type
	kept, dropped string
}{
	{System, `database databases db cluster server servers api apis gateway queue bucket cache endpoint endpoints pipeline scheduler worker broker proxy router backend frontend store registry middleware topic table
		schema host instance environment network console dashboard panel branch component components engine runtime container containers index webhook handler controller subsystem layer loader parser config model bus plugin plugins form gallery navbar page modal verifier view views surface tab field file manifest hook gate
		drawer picker sidecar shell pane widget bridge slot suite fence catalog`,
		`service services microservice system module daemon subsystem process feature`},
	{Tool, `cli sdk editor compiler linter driver client language formatter extension`, `library libraries framework package tool`},
	{Project, `website site portfolio product monorepo app apps application`, `repo repository project projects codebase`},
	{Person, `team squad group committee manager family crew guild`, ``},
	{Concept, `checklist process policy convention conventions strategy protocol algorithm guideline guidelines rule theorem formula contract agreement budget roadmap architecture format pattern standard workflow theory law model spec specification`, ``},
	{Skill, `skill skills playbook runbook recipe`, ``},
	{Task, `ticket milestone sprint epic migration rollout backlog`, `task`},
}

// products are names that count in any case, because they are no other words. Products
// that are words as well (go, swift, chrome, slack) need a capital.
const products = `
	activemq airflow airtable ansible apache argocd auth0 aws azure bazel bitbucket bootstrap cassandra chatgpt chromadb circleci clickhouse cloudflare cloudfront cloudwatch cockroachdb
	confluence couchbase couchdb css3 dagster datadog debian deno django docker dockerhub duckdb dynamodb ec2 ecs eks elasticsearch eslint etcd expressjs fastapi
	fastify figma firebase firestore flask fluentd gcp gcs gitea github gitlab golang grafana graphql grpc gunicorn hadoop haproxy haskell hasura heroku html5 hubspot huggingface infisical influxdb
	 javascript jenkins jira jq jquery jupyter k8s kafka keycloak kibana kotlin kubernetes langchain langgraph laravel linux llama llm lua macos mariadb matplotlib meilisearch memcached
	minio mixpanel mlflow mongodb mongoose mqtt mysql nats neo4j netlify newrelic nextjs nginx nodejs npm numpy nuxt okta openai opensearch opentelemetry
	pandas paypal pgbouncer pgvector php pinecone playwright pnpm postgres postgresql powershell prettier prisma prometheus pulumi puppeteer pyodide pytest pytorch qdrant rabbitmq 
	redis redshift redux redpanda s3 sagemaker salesforce sanic scylladb selenium sendgrid sidekiq sonarqube spacy splunk sqlalchemy sqlite sqs supabase
	svelte tailwind tailwindcss tauri tensorflow terraform trello twilio typescript ubuntu uvicorn vercel vite vitest vscode vue vuejs weaviate webpack websocket werkzeug whatsapp wordpress zod zookeeper
	zustand zendesk pydantic ruff mypy pip conda bleve bbolt jetstream ollama youtube instagram telegram`
