package storetest

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// Made up, and split so that a scanner of source code does not stumble on them.
var madeUpSecrets = []string{
	"AKIA" + "Q3EGRT7XJ5LMN2PZ",
	"ghp_" + "b7Xk2mQ9wLr4TzN8vYp1Sd6Hf3Jc5Ga0Ue2B",
}

func testUnclean(k *kit) {
	k.sub("reasoning does not reach the log", func(k *kit) {
		id := k.write("<think>the user may be testing me</think>payments uses sagas",
			func(c *ken.Claim) {
				c.Heading = "<THINK>hm</THINK>Sagas"
				c.Evidence[0].Detail = "<scratch_pad>plan</scratch_pad>report 7"
			})
		c := k.get(id)
		if strings.TrimSpace(c.Text) != "payments uses sagas" || strings.TrimSpace(c.Heading) != "Sagas" ||
			strings.TrimSpace(c.Evidence[0].Detail) != "report 7" {
			k.Errorf("kept %q, %q, %q", c.Heading, c.Text, c.Evidence[0].Detail)
		}
		if found := k.ask("testing"); len(found) != 0 {
			k.Error("the reasoning is searchable")
		}
	})

	k.sub("text that is only reasoning is refused", func(k *kit) {
		for _, text := range []string{
			"<think>let me see</think>", " <think>a</think>\n<scratch_pad>b</scratch_pad> ", "<think>never closed",
		} {
			_, err := k.s.WriteClaim(k.ctx, claim(text))
			k.wantErr(err, ken.ErrRefused, "text")
		}
		if found := k.ask(""); len(found) != 0 {
			k.Errorf("%d claims were kept", len(found))
		}
	})

	k.sub("secrets are not stored verbatim", func(k *kit) {
		for _, secret := range madeUpSecrets {
			id := k.write("deploy with "+secret+" on Fridays", func(c *ken.Claim) {
				c.Heading = "key " + secret
				c.Evidence = []ken.Evidence{ken.FromToolResult("tc", "printed "+secret), ken.FromExitCode("login "+secret, 0)}
			})
			err := k.s.Transition(k.ctx, ken.Transition{ID: id, To: ken.StatusDisputed, Reason: "it leaks " + secret,
				Evidence: []ken.Evidence{ken.FromMessage("s", "m", "found "+secret)}})
			if err != nil {
				k.Fatal(err)
			}
			kept, err := json.Marshal(map[string]any{"claim": k.get(id), "history": k.history(id)})
			if err != nil {
				k.Fatal(err)
			}
			if strings.Contains(string(kept), secret) {
				k.Errorf("%s… is in what was kept: %s", secret[:4], kept)
			}
			if !strings.Contains(k.get(id).Text, "on Fridays") {
				k.Errorf("the rest of the text is gone: %q", k.get(id).Text)
			}
		}
	})

	k.sub("NUL and invalid UTF-8 are cleaned", func(k *kit) {
		for _, text := range []string{"sagas a\x00b", "sagas caf\xe9", "\xff\xfesagas", "sagas \x1b[31mred"} {
			c := k.get(k.write(text))
			if !utf8.ValidString(c.Text) || strings.ContainsAny(c.Text, "\x00\x1b") {
				k.Errorf("%q became %q", text, c.Text)
			}
			if !strings.Contains(c.Text, "sagas") {
				k.Errorf("%q lost its words: %q", text, c.Text)
			}
		}
		if found := k.ask("sagas"); len(found) != 4 {
			k.Errorf("found %d of 4", len(found))
		}
	})
}
