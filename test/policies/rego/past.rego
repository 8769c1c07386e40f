# The rules that test/policies asks about a recorded ledger.
package past

import rego.v1

decisions contains {"policy": "large", "decision": "REQUIRE_APPROVAL", "reason": "large sums need a person"} if {
	startswith(input.action.id, "Pay.")
	input.stage == "action"
	input.resource.payload.sum > 50
}

decisions contains {"policy": "pii", "decision": "DENY", "reason": "no pii"} if {
	input.stage == "action"
	"pii" in input.context.tags
}

decisions contains {"policy": "nine", "decision": "DENY", "reason": "nine may not"} if {
	input.stage == "gate"
	input.principal.id == "9"
}
