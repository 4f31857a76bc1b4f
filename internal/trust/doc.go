// Package trust decides which files in a project's folder are trusted on this
// machine. A folder may be a clone of a stranger's repository. Its configuration
// is used in full only after the user's consent (see Consent). Its state is used
// only if Ken created it on this machine for this user (see State).
//
// The package stores its files in the user's own state folder, which no other
// user can read:
//
//	secret               key of the marks that prove where a state was made
//	trust/KEY.json       the consent to one project's configuration
//	marks/KEY.json       the mark of a state that is read-only
//	projects/KEY/state   state for a project whose own state is not used
//
// KEY is derived from the real path of the folder.
package trust
