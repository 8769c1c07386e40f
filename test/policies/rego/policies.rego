# The policy of one-policy.ts in Rego: its sets of decisions are compared with those of the other languages.
package countersign

import rego.v1

decisions contains {"policy": "tenant.frozen", "decision": "DENY", "reason": "the tenant is frozen"} if {
	input.stage == "action"
	input.principal.tenant == "frozen"
}

decisions contains {"policy": "agent.final", "decision": "DENY", "reason": "an agent makes nothing final"} if {
	input.stage == "action"
	input.principal.role == "agent"
	"final_write" in input.action.groups
}

decisions contains {"policy": "pay.shell", "decision": "DENY", "reason": "nothing is paid to shells"} if {
	input.action.id == "Pay.Send"
	startswith(input.resource.payload.to, "shell-")
}

decisions contains {"policy": "mail.night", "decision": "DENY", "reason": "no mail at night"} if {
	input.stage == "action"
	"external_send" in input.action.groups
	is_night
}

decisions contains {
	"policy": "pay.large",
	"decision": "REQUIRE_APPROVAL",
	"reason": "payments above 5000 need a person",
} if {
	input.action.id == "Pay.Send"
	input.resource.payload.sum > 5000
}

decisions contains {
	"policy": "weekend.risky",
	"decision": "REQUIRE_APPROVAL",
	"reason": "on weekends somebody looks at what is risky",
} if {
	input.stage == "action"
	input.context.risk == "high"
	input.context.weekday in {"sat", "sun"}
}

decisions contains {
	"policy": "personal.ask",
	"decision": "REQUIRE_APPROVAL",
	"reason": "personal data needs a person",
} if {
	input.stage == "action"
	"pii" in input.context.tags
	not "consented" in input.context.tags
}

decisions contains {"policy": "plan.unplanned", "decision": "DENY", "reason": "such plans are not made"} if {
	input.action.id == "plan"
	"unplanned" in input.context.tags
}

decisions contains {"policy": "draft.secret", "decision": "DENY", "reason": "a secret is not drafted"} if {
	"draft" in input.action.groups
	"secret" in input.context.tags
}

decisions contains {"policy": "robot.approval", "decision": "DENY", "reason": "a robot does not approve"} if {
	input.action.id == "approve"
	input.principal.id == "robot"
}

time_of_day := substring(input.context.now, 11, 5)

is_night if time_of_day >= "22:00"

is_night if time_of_day < "06:00"
