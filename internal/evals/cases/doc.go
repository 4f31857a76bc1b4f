// Package cases tests what an agent remembers, the way that code is tested: a
// file says what is known, what is asked, and what must and must not come of it.
//
//	given:
//	  - {key: retries, text: The payments service retries a failed transfer three times.}
//	cases:
//	  - name: retries are known
//	    ask: How often does the payments service retry a transfer?
//	    must_inject: [{key: retries}]
//	  - name: small talk stays silent
//	    ask: Thanks, that helped!
//	    block_empty: true
//
// [Load] reads a file, [Run] runs its cases, each as a turn of
// middleware.Layer.Assemble, and [WriteText] and [WriteJUnit] tell what came of
// it. Go programs test their memory beside their code with package evals. The
// language is described in docs/memory-tests.md.
//
// A case runs on a store of its own in a temporary folder. What it stands on, a
// live store or an export, is copied and never written to. All else is as in a
// turn, with two exceptions: retrieval.deadline is at its longest, so that a slow
// machine gives the same result as a fast one, and no events are recorded.
package cases
