package reading

// commonWords are words that stand in texts of every kind, and are names of things
// now and then: files, commands, products, columns. Without more than the word
// nothing can be said about which is meant.
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

// products are names that are written in any case, and are no other word. What is a
// word as well (go, swift, chrome, slack) needs its capital.
