// Package cases tests what an agent remembers, like code is tested: a file says what is
// known, what is asked, and what the result must and must not be.
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
// middleware.Layer.Assemble, and [WriteText] and [WriteJUnit] write the results. Go
// programs test their memory next to their code with package evals. The language is
// described in docs/memory-tests.md.
//
// Each case runs on a store of its own in a temporary folder. A live store or an export
// that it uses is copied and never written to. Everything else is as in a turn, with
// two exceptions: retrieval.deadline has its maximum, so that a slow machine gives the
// same result as a fast one, and no events are recorded.
package cases
