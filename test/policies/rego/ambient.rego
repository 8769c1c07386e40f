# Policies that read what is not in the question: a clock, randomness, the network, the process.
package ambient

import rego.v1

clock contains {"policy": "a", "decision": "DENY"} if time.now_ns() > 0

chance contains {"policy": "b", "decision": "DENY"} if rand.intn("x", 2) == 1

network contains {"policy": "c", "decision": "DENY"} if http.send({"method": "GET", "url": "http://127.0.0.1"}).status_code == 200

process contains {"policy": "d", "decision": "DENY"} if opa.runtime().env.HOME

missing contains {"policy": "e", "decision": "DENY"} if crypto.sha256(input.stage) == "x"
