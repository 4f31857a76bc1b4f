package reading_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// Rules as records lay them down without must, never or always.
func TestRegulations(t *testing.T) {
	for _, s := range []string{
		"Nothing is ever renamed in the archive without a ticket.",
		"Customer names are not to be shown in the logs.",
		"Drafts of the newsletter are to be reviewed on Thursday.",
		"A booked entry cannot be changed.",
		"Any new index on the orders table requires the approval of the platform team.",
		"Under no circumstances does the importer write to production.",
		"On no account is the worker restarted during payroll.",
		"We don't let the crawler follow external links.",
		"The cache may be at most ten minutes old.",
		"At most 12 connections may be open on the proxy.",
		"Plain FTP is no longer allowed on the file server.",
		"The importer is limited to two threads.",
		"Personal addresses are off limits for the exporter.",
		"Whoever touches the scheduler has to update the runbook.",
		"No release leaves staging unless the smoke tests are green.",
		"The team agreed that no table is dropped without a backup.",
		"Every index needs to be built on the replica first.",
		"A new index needs the approval of the platform team.",
		"A change of the archive requires two approvals.",
		"No restarts of the scheduler on Sundays.",
		"No exports at weekends.",
		"Don't ever truncate the orders table.",
		"Please refrain from touching the archive.",
	} {
		c := claim(s)
		if !reading.Read(&c, nil).Constraint {
			t.Errorf("no constraint: %q", s)
		}
	}
}

// A rule about a part of something is about that.
func TestARuleOfWhatBelongsToSomething(t *testing.T) {
	c := claim("Keep the names of customers out of the importer's logs, please.")
	if r := reading.Read(&c, nil); !r.Constraint || len(r.Entities) == 0 || r.Entities[0].Name != "importer" {
		t.Errorf("%+v", r)
	}
}

// What has the same words, and lays nothing down.
func TestWhatIsNoRegulation(t *testing.T) {
	for _, s := range []string{
		"Nothing is known about the outage.",
		"The logs are not in the archive.",
		"The server cannot be reached from Berlin.",
		"The build requires Go 1.26.",
		"The importer let two files through.",
		"It may be no coincidence that the worker crashed.",
		"At most of the sites the proxy works.",
		"The budget of the importer was limited to two threads last year.",
		"Whoever wrote the scheduler knew the runbook.",
		"No release was cut without a green build last year.",
		"No, the smoke tests are green.",
		"No restarts of the scheduler were seen on Sundays.",
		"No exports on Sunday.",
		"No news from the vendor.",
		"The docs of the importer need to be updated.",
		"Every test needed two minutes.",
		"The release needs two minutes.",
		"Don't ever mind the noise.",
		"Ana: any cake needs my approval.",
		"Ana: you can't be changed by others, and that is fine.",
		"Ana: under no circumstances did I expect that cake.",
	} {
		c := claim(s)
		if reading.Read(&c, nil).Constraint {
			t.Errorf("a constraint: %q", s)
		}
	}
}

// about is what a text is about, and what it says of dependencies.
func about(text string, known reading.Names) (entities []string, dependencies string) {
	c := claim(text)
	r := reading.Read(&c, known)
	for i := range r.Entities {
		entities = append(entities, r.Entities[i].Name)
	}
	var list []string
	for _, d := range r.Dependencies {
		list = append(list, fmt.Sprintf("%s %s %s", d.Source, d.Type, d.Target))
	}
	return entities, strings.Join(list, "; ")
}

// On both sides of what says how things stand to each other, a common noun is a name,
// and so is a gerund.
func TestWhatDependsHasAName(t *testing.T) {
	for _, tt := range []struct{ text, primary, want string }{
		{"Grading uses PostgreSQL and RabbitMQ.", "grading", "grading uses postgresql; grading uses rabbitmq"},
		{"Search requires the course catalog.", "search", "search requires course catalog"},
		{"Enrollment depends on identity, on routing and on the seat map.", "enrollment",
			"enrollment requires identity; enrollment requires routing; enrollment requires seat map"},
		{"Shipping depends on the warehouse and stores its labels in MinIO.", "shipping", "shipping requires warehouse; shipping uses minio"},
		{"Billing, the ledger and payouts are owned by the Finance team.", "billing",
			"payouts owned_by finance team; ledger owned_by finance team; billing owned_by finance team"},
		{"Search and the gateway are maintained by the platform team.", "search", "gateway owned_by platform team; search owned_by platform team"},
		{"Reminders, search and Dock belong to the Field team.", "reminders", "dock owned_by field team; search owned_by field team; reminders owned_by field team"},
		{"Recommendations run on TensorFlow and read from the feature store.", "recommendations", "recommendations uses tensorflow; recommendations uses feature store"},
		{"Routing consumes position events from Kafka.", "routing", "routing uses kafka"},
		{"Reminders are triggered by Kafka events and sent through Twilio.", "reminders", "kafka informs reminders; reminders uses twilio"},
		{"Inventory feeds search with stock levels.", "inventory", "inventory informs search"},
		{"Checkout waits for fraud detection.", "checkout", "fraud detection blocks checkout"},
		{"The student portal uses the grading service.", "student portal", "student portal uses grading"},
	} {
		entities, got := about(tt.text, nil)
		if got != tt.want || len(entities) == 0 || entities[0] != tt.primary {
			t.Errorf("%q: about %q\n got %q\nwant %q", tt.text, entities, got, tt.want)
		}
	}
}

// What has the words of a dependency and names nothing.
func TestWhatIsNoNameDependsOnNothing(t *testing.T) {
	for _, text := range []string{
		"Tests use pytest.", // what tests? the project's, which is not said
		"Testing is important.",
		"It all depends on timing.",
		"Deckhand talks to nothing else.",
		"People use things.",
		"We should use caching.",
		"Caroline: Painting needs patience.",
		"What does grading use?",
		"Grading does not use Redis.",
	} {
		if entities, got := about(text, nil); got != "" {
			t.Errorf("%q: about %q, %q", text, entities, got)
		}
	}
}

// A rule is about something, in common words too.
func TestWhatARuleIsFor(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"Search must not return sold items.", "search"},
		{"The cache must be cleared after every deploy.", "cache"},
		{"A booking must not be confirmed before the check has passed.", "booking"},
		{"Jobs in the scheduler must be idempotent.", "scheduler"},
		{"All totals in the basket must be rounded.", "totals basket"},
		{"Documents with personal data have to be deleted after a year.", "documents"},
		{"Uploads larger than the limit must be rejected.", "uploads"},
		{"Reports may only read at night.", "reports"},
		{"Nobody may change a price without two approvals.", "price"},
		{"Always run migrations first.", "migrations"},
		{"Don't cache prescriptions.", "prescriptions"},
		{"Webhooks must be idempotent.", "webhooks"},
		{"Journals are append-only.", "journals"},
		// compounds
		{"Coupon codes must be unique.", "coupon codes coupon"},
		{"Search results must be paginated.", "search results search"},
		{"Quoted prices must not change.", "quoted prices"},
		{"External calls must time out.", "external calls"},
		// nothing is named
		{"Everything must be reviewed.", ""},
		{"Data must be encrypted.", ""},
		{"It must stay off.", ""},
	} {
		if entities, _ := about(tt.text, nil); strings.Join(entities, " ") != tt.want {
			t.Errorf("%q is about %q, want %q", tt.text, entities, tt.want)
		}
	}
}

// Without a rule or a dependency, a common noun is no name.
func TestCommonNounsOfReportsAreNoNames(t *testing.T) {
	for _, text := range []string{"Search was slow yesterday.", "A cache is nice.", "Jobs in the scheduler failed.", "Coupon codes were unique."} {
		entities, _ := about(text, nil)
		for _, e := range []string{"search", "cache", "jobs", "coupon"} {
			if slices.Contains(entities, e) {
				t.Errorf("%q names %q", text, e)
			}
		}
	}
}

// A compound is about its modifier when that is known, and both numbers of a word are
// one name.
func TestKnownNamesInOtherWords(t *testing.T) {
	known := names{"invoices": true, "tariff": true, "booking": true, "port": true, "search": true, "custom": true}
	for _, tt := range []struct{ text, want string }{
		{"Tariff tables must never be edited.", "tariff"},
		{"Invoice numbers must be gapless.", "invoices"},
		{"An invoice is sent at once.", "invoices invoice"},
		{"Bookings are deleted after two weeks.", "booking bookings"},
		{"The booking references are short.", "booking"},
		{"Port search runs at night.", "port search"},
		{"Ports search is slow.", "search"}, // what it is for is in another number
		{"Customs is slow.", "custom customs"},
	} {
		if entities, _ := about(tt.text, known); strings.Join(entities, " ") != tt.want {
			t.Errorf("%q is about %q, want %q", tt.text, entities, tt.want)
		}
	}
}

// The file that a claim rests on names what it is called after, when that is known,
// and gives way to a name in the text.
func TestTheKnownThingThatAFileIsCalledAfter(t *testing.T) {
	known := names{"customs": true, "ledger": true}
	for _, tt := range []struct{ text, want string }{
		{"A stuck parcel is sent back.", "customs stuck parcel"},
		{"The ledger is checked at night.", "ledger customs"},
		{"Parcels must be scanned twice.", "parcels customs"}, // a rule is for what it says
	} {
		c := claim(tt.text)
		c.Evidence = append(c.Evidence, ken.Evidence{Kind: ken.EvidenceFile, Path: "docs/customs.md"})
		var got []string
		for _, m := range reading.Read(&c, known).Entities {
			got = append(got, m.Name)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%q is about %q, want %q", tt.text, got, tt.want)
		}
	}
}
