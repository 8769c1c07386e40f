# Entry points that fail in every way in which an entry point can.
package faulty

import rego.v1

# Not defined for any question.
undefined_answer := [] if input.stage == "nowhere"

# Two values for one rule.
conflict := input.stage

conflict := "another" if input.stage

# No set of decisions.
boolean := true

object := {"policy": "a", "decision": "DENY"}

unknown_member contains {"policy": "a", "decision": "ALLOW", "reson": "a misspelt member"}

unknown_decision contains {"policy": "a", "decision": "PERMIT"}

without_policy contains {"decision": "ALLOW", "reason": "nobody knows which policy"}

many contains {"policy": sprintf("policy %d", [n]), "decision": "ALLOW"} if some n in numbers.range(1, 300)

# More work than anybody waits for.
endless contains {"policy": "a", "decision": "ALLOW"} if {
	ns := numbers.range(1, 2000)
	some _ in ns
	some _ in ns
	some _ in ns
	some n in ns
	n == input.stage
}

# More memory than there is.
greedy contains {"policy": "a", "decision": "ALLOW"} if count(numbers.range(1, 100000000)) > 0
