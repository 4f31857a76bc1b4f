// Package config reads the one YAML file that configures Ken into one struct.
//
// Every setting is declared once, beside the struct field that it fills: its
// key, its default, what is allowed and what it means. Decoding, validation,
// config.example.yaml and docs/config.md all follow from that declaration, so
// they can't disagree.
//
// The reader is strict, because a setting that is silently ignored is worse than
// a program that doesn't start: an unknown or repeated key, a wrong type and a
// value out of range are all errors that name the file, the line, the dotted key
// and what to write instead. An empty file is valid and means every default.
//
// Secrets never stand in the file. A key that needs one names the environment
// variable that holds it (api_key_env), and a literal secret is refused without
// repeating it in the message. KEN_CONFIG, which names the file itself, and those
// that name the user's own folders are the only other environment variables that
// the package looks at.
//
// A project's file may be a stranger's: each key's declaration says what it may do
// before the user's consent (consent.go), and Resolve puts the layers together.
package config
