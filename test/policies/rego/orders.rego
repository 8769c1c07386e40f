# Orders: what needs a person, who gives the second approval, and who gives none. The bound is data.
package orders

import rego.v1

decisions contains {
	"policy": "orders.large",
	"decision": "REQUIRE_APPROVAL",
	"reason": sprintf("orders above %d need a person", [data.limits.large]),
	"confirm": "type",
} if {
	input.action.id == "Order.Buy"
	input.resource.payload.total > data.limits.large
}

decisions contains {
	"policy": "orders.second",
	"decision": "DENY",
	"reason": "above 10000 the second approval is finance's",
} if {
	input.action.id == "approve"
	input.resource.payload.total > 10000
	input.context.approvals.count == 1
	not "finance" in input.context.approvals.roles
	input.principal.role != "finance"
}

decisions contains {"policy": "orders.own", "decision": "DENY", "reason": "who asks for an order does not approve it"} if {
	input.action.id == "approve"
	input.principal.id == input.context.requester.id
}

decisions contains {"policy": "orders.strict", "decision": "DENY", "reason": "the first was not finance"} if {
	data.limits.strict
	input.stage == "action"
	input.context.approvals.count == 1
}

decisions contains {"policy": "orders.spent", "decision": "DENY", "reason": "enough is spent"} if {
	input.context.budget.spent >= data.limits.spent
}

decisions contains {
	"policy": "orders.known",
	"decision": "ALLOW",
	"reason": "the shop is known",
	"lifts": "default.final_write",
} if {
	input.action.id == "Order.Pay"
	input.resource.payload.shop in data.known
}
