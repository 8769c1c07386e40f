/**
 * A message is posted by one process and replaced by another one, on whichever ledger: what the tests of both stores
 * run.
 * Owns: the story. Never: asserts anything.
 */
import type { LedgerStore } from "../../src/index.ts";
import { slackNotifier } from "../../src/observers/notifiers/index.ts";
import { createTestKernel, createVirtualClock, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { gatedSteps, intent } from "../gates/story.ts";
import { type Message, type SlackStandIn, standForSlack } from "./slack-stand-in.ts";

const day = 86_400_000;

/** Resolves when Slack was called so often and the kernel has noted that. */
export async function delivered(t: TestKernel, slack: SlackStandIn, calls: number): Promise<void> {
  await slack.until(() => slack.calls.length >= calls);
  while ((await t.kernel.deliveries()).some(({ pending }) => pending > 0)) await t.clock.settle();
}

export interface RestartTold {
  readonly posted: Message | undefined;
  readonly replaced: Message | undefined;
  /** The methods that Slack was called by, in order. */
  readonly methods: readonly string[];
}

/**
 * Opens a gate and posts it; another kernel, eight days later, tells of a second gate, which has deliveries of more
 * than a week ago forgotten; a third one decides the first gate.
 */
export async function restartBeforeDecision(openLedger: () => LedgerStore): Promise<RestartTold> {
  await using slack = await standForSlack();
  const clock = createVirtualClock();
  const open = (seed: number) =>
    createTestKernel({
      ledger: openLedger(),
      capabilities: [gatedSteps(1).capability],
      clock,
      seed,
      notifiers: [
        slackNotifier({
          ...{ token: "xoxb-test", channel: "#gates", apiUrl: slack.apiUrl, allowPrivate: true },
          consoleUrl: "https://gates.test",
        }),
      ],
    });
  const first = await open(1);
  const { workflow_id } = await first.run(intent);
  await delivered(first, slack, 1);
  await first.kernel.stop();
  const posted = slack.messages.get("1700000000.000001");
  await clock.advance(8 * day);
  const second = await open(2);
  await second.run(intent);
  await delivered(second, slack, 2);
  await second.kernel.stop();
  const third = await open(3);
  await third.kernel.decideGate(workflow_id, { ...testCaller, gate_id: "gate-s1", decision: "approve" });
  await delivered(third, slack, 3);
  await third.kernel.stop();
  const replaced = slack.messages.get("1700000000.000001");
  return { posted, replaced, methods: slack.calls.map(({ method }) => method) };
}
