package reading_test

import (
	"testing"

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
