// Package trust decides what of a project's folder counts on this machine. A
// folder may be a clone of a stranger's repository: its configuration counts in
// full after the user's consent alone (see Consent), and its state is used only
// where Ken made it here, for this user (see State).
//
// What the package keeps lies in the user's own state folder, which no other user
// can read:
//
//	secret               by which marks of states are recognised
//	trust/KEY.json       the consent to one project's configuration
//	marks/KEY.json       the mark of a state that can only be read
//	projects/KEY/state   what Ken keeps for a project whose own state is not used
//
// KEY is made from the real path of the folder.
package trust
