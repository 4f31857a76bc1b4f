package reading

// lists are the words of each class.
var lists = []struct {
	class class
	words string
}{
	{common, commonWords},
	{generic, genericWords},
	{faint, faintCues},
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
		yep yup yeah yay nope nah sure haha hmm woohoo wow aww ooh hello congrats thank anytime
		more most much many few less least lot lots etc e.g i.e eg ie vs via yes no ok okay hey hi wow oh well thanks hence thus therefore however instead rather otherwise
		one two three four five six seven eight nine ten`},
	{function | preposition, `in on at by for from into of onto to with about against across after before behind below above between through during under over within without
		toward towards upon per around near off out up down along despite except inside outside like beyond among`},
	{function | auxiliary, `is are was were be been being am has have had having do does did doing can could should would will shall may might must isn't aren't wasn't weren't doesn't don't
		didn't hasn't haven't hadn't can't cannot couldn't won't wouldn't shouldn't mustn't shan't needn't gets got`},
	{finite, `uses used using needs needed requires required depends depended relies relied runs ran calls called imports imported owns owned maintains maintained blocks blocked feeds fed notifies
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
	{calendar, `monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays weekend weekends january february march april may june
		july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec am pm utc cet est pst gmt christmas easter thanksgiving halloween week month year day`},
	{hedge, `may might sometimes optionally possibly perhaps maybe could would probably potentially occasionally can optional someday eventually`},
	{negative, `not no never without don't doesn't didn't isn't aren't wasn't weren't can't cannot couldn't won't wouldn't shouldn't mustn't neither nor hardly nothing nicht kein keine nie niemals`},
	{past, `was were went had did been ran came saw got made took gave felt thought knew told said left found kept began wrote read met bought brought became built caught chose drank drove ate fell
		flew forgot grew heard held lost meant paid rode rose sang sat sent shook slept spent spoke stood swam taught threw understood woke wore won had've gone done seen`},
	{label, `note notes warning important todo fixme fix fixed bug caution tip hint decision agreed summary context status problem solution question answer example reminder update ps nb rule rules
		policy constraint fact goal result results conclusion observation proposed accepted reason step steps info plan remember background issue task output input error chapter section`},
}

// verbs in their base form: what an order begins with.
const verbs = `use deploy run call build create make add remove delete drop keep keep put send write read open close start stop restart merge push pull commit rebase squash release ship roll rollback
	avoid ensure check test verify validate update upgrade downgrade bump pin install configure set enable disable store save log print return include exclude provide give show explain answer respond reply
	format cite mention ask tell remind remember forget treat prefer allow deny forbid require need depend rely expose share skip ignore follow apply change modify edit touch rename move copy replace
	rotate encrypt sign hash limit restrict bypass commit hardcode mix import export wait block go do get take leave let try see look consider document review approve assign schedule book
	say speak talk translate list generate suggest offer feed notify publish introduce choose pick adopt split extract own handle break assume trust expire retry cache query connect access
	put refer rank order sort paginate render load mount reset migrate back seed hand ping page escalate contact email call invite describe summarize summarise highlight focus begin end confirm reduce improve increase decrease optimize optimise debug handle manage implement integrate refactor monitor prevent identify detect fetch display double-check doublecheck`
