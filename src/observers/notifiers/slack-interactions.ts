/**
 * Handles the requests of buttons in Slack.
 *
 * 1.  Only a request with Slack's signature over its bytes, made within the last five minutes, is read.
 * 2.  The principal who decides is the one that the host names for this user of this workspace; without one nothing is
 *     decided.
 * 3.  The decision is on the payload whose digest the button carries: the kernel refuses it if the gate shows another
 *     by now.
 * 4.  The answer goes to the user who pressed, and to no other host than Slack's.
 * 5.  A pressed message whose gate is decided, or shows something else by now, is replaced by the present state.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { requireCredentialScope, ScopedCaller } from "../../contract/auth-context.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { type Gate, isOpenGate } from "../../contract/gate.ts";
import type { GateNotice } from "../../contract/gate-notice.ts";
import { KernelErrorException, raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Clock, Kernel } from "../../index.ts";
import { readBytes } from "../../protocol/read-body-text.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { isStanding } from "./describe-notice.ts";
import { postText } from "./post-text.ts";
import { composeReplacement, type MessageOptions, toMrkdwn } from "./slack-message.ts";

/** A user as Slack names them. */
export interface SlackUser {
  readonly user_id: string;
  readonly team_id: string;
}
/** Returns the principal of a Slack user; null if there is none. */
export type PrincipalOf = (user: SlackUser) => ScopedCaller | null | Promise<ScopedCaller | null>;
export type Decider = Pick<Kernel, "decideGate" | "workflow">;

export interface InteractionParts {
  readonly signingSecret: string | undefined;
  readonly principalOf: PrincipalOf | undefined;
  readonly clock: Clock;
  /** The origins that answers go to. */
  readonly answersAt: readonly string[];
  readonly messages: MessageOptions;
  readonly allowPrivate: boolean;
}

const slackRef = moduleRef(6, "notifiers", "slack_interactions");
const maxBytes = 200_000;
const maxAgeSec = 300;
const answerTimeoutMs = 5_000;

const Interaction = z.object({
  type: z.literal("block_actions"),
  user: z.object({ id: z.string(), team_id: z.string().optional() }),
  team: z.object({ id: z.string() }).nullish(),
  response_url: z.string().optional(),
  actions: z.array(z.object({ action_id: z.string(), value: z.string().optional() })).min(1),
});
type Interaction = z.infer<typeof Interaction>;

const Shown = z.strictObject({
  workflow_id: z.string(),
  gate_id: z.string(),
  payload_digest: z.string(),
  basis_digest: z.string().optional(),
});

const decisions: Readonly<Record<string, "approve" | "reject">> = {
  countersign_approve: "approve",
  countersign_reject: "reject",
};

export const answerInteractions =
  (kernel: Decider, parts: InteractionParts) =>
  async (request: Request): Promise<Response> => {
    const { signingSecret, principalOf, clock } = parts;
    if (signingSecret === undefined || principalOf === undefined) return new Response(null, { status: 404 });
    const bytes = await readBytes(request, maxBytes);
    if (!isSigned(request.headers, bytes, { signingSecret, now: clock.now() }))
      return new Response(null, { status: 401 });
    const interaction = readInteraction(bytes);
    // Another interaction than our buttons, such as the link, is accepted and ignored.
    const action = interaction?.actions.find(({ action_id }) => Object.hasOwn(decisions, action_id));
    if (interaction === null || action === undefined) return new Response(null, { status: 200 });
    const pressed = await readPressed(principalOf, { interaction, action }).catch(describeRefusal);
    const word = typeof pressed === "string" ? pressed : await decide(kernel, pressed).catch(describeRefusal);
    // Slack waits three seconds for this answer, and not at all for the message to the user.
    void answerAll(kernel, { interaction, word, pressed }, parts);
    return new Response(null, { status: 200 });
  };

/** Returns whether a request carries a valid signature by Slack's v0 scheme, made within the last five minutes. */
function isSigned(
  headers: Headers,
  bytes: Uint8Array,
  { signingSecret, now }: { readonly signingSecret: string; readonly now: number },
): boolean {
  const timestamp = headers.get("x-slack-request-timestamp") ?? "";
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > maxAgeSec) return false;
  const expected = createHmac("sha256", signingSecret).update(`v0:${timestamp}:`).update(bytes).digest("hex");
  const given = Buffer.from(headers.get("x-slack-signature") ?? "");
  const wanted = Buffer.from(`v0=${expected}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

function readInteraction(bytes: Uint8Array): Interaction | null {
  try {
    const form = new URLSearchParams(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    const read = Interaction.safeParse(JSON.parse(form.get("payload") ?? ""));
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}

interface Sent {
  readonly interaction: Interaction;
  readonly action: Interaction["actions"][number];
}

/** A button of ours, and the principal of the user who pressed it. */
interface Pressed {
  readonly caller: ScopedCaller;
  readonly decision: "approve" | "reject";
  readonly shown: z.infer<typeof Shown>;
}

async function readPressed(principalOf: PrincipalOf, { interaction, action }: Sent): Promise<Pressed> {
  const shown = Shown.parse(JSON.parse(action.value ?? ""));
  const user = { user_id: interaction.user.id, team_id: interaction.team?.id ?? interaction.user.team_id ?? "" };
  const caller = ScopedCaller.nullable().parse(await principalOf(user));
  if (caller === null)
    return raise(kernelError("T5_AUTHN_FAILED", "Slack's user is nobody here; nothing was decided", slackRef));
  requireCredentialScope(caller, "gate:approve", slackRef);
  return { caller, decision: decisions[action.action_id] as "approve" | "reject", shown };
}

async function decide(
  kernel: Decider,
  { caller, decision, shown: { workflow_id, ...shown } }: Pressed,
): Promise<string> {
  const { tenant_id, principal } = caller;
  const { gate_id, ...digests } = shown;
  const payload = { ...digests, comment: "decided in Slack" };
  const { status } = await kernel.decideGate(workflow_id, { tenant_id, principal, gate_id, decision, payload });
  return `${decision}: ${status}`;
}

/**
 * Returns the gate of a pressed message in its present state, as a notice; null if the message may still be decided.
 */
async function readNewerNotice(kernel: Decider, { caller, shown }: Pressed): Promise<GateNotice | null> {
  const { workflow_id, gate_id, payload_digest, basis_digest } = shown;
  // It is read by the host itself, because a channel's message has no particular reader.
  const { tenant_id, gates, intent, updated_at: at } = await kernel.workflow(workflow_id);
  const gate = gates.find((one) => one.gate_id === gate_id);
  if (gate === undefined || tenant_id !== caller.tenant_id) return null;
  const kind = isOpenGate(gate) ? "revised" : "decided";
  const about = { notice_id: "", kind, at, tenant_id, workflow_id, intent_type: intent.type } as const;
  const { basis_digest: _, ...rest } = gate;
  const pressed: Gate = { ...rest, payload_digest, ...(basis_digest !== undefined && { basis_digest }) };
  if (isStanding({ ...about, gate: pressed, gate_now: gate, cancelled: null })) return null;
  return { ...about, gate, gate_now: gate, cancelled: null };
}

interface Answered {
  readonly interaction: Interaction;
  readonly word: string;
  readonly pressed: Pressed | string;
}

/** Answers the user even if the message cannot be replaced, and the other way round. */
async function answerAll(kernel: Decider, { interaction, word, pressed }: Answered, parts: InteractionParts) {
  const toPresser = { response_type: "ephemeral", replace_original: false, text: toMrkdwn(word.slice(0, 2_000)) };
  await answer(interaction, toPresser, parts).catch(() => undefined);
  if (typeof pressed === "string") return;
  const overtaken = await readNewerNotice(kernel, pressed).catch(() => null);
  if (overtaken === null) return;
  const replacement = { replace_original: true, ...composeReplacement(overtaken, parts.messages) };
  await answer(interaction, replacement, parts).catch(() => undefined);
}

const describeRefusal = (thrown: unknown): string =>
  thrown instanceof KernelErrorException
    ? `Nothing was decided. ${showLine(thrown.error.message)}`
    : "Nothing was decided: the button could not be read, or the host failed.";

/** Answers at the address that Slack gave for it. */
async function answer({ response_url: to = "" }: Interaction, message: object, parts: InteractionParts): Promise<void> {
  const url = URL.canParse(to) ? new URL(to) : null;
  if (url === null || !parts.answersAt.includes(url.origin)) return;
  const headers = { "content-type": "application/json" };
  const signal = AbortSignal.timeout(answerTimeoutMs);
  await postText({ url, allowPrivate: parts.allowPrivate }, { headers, body: JSON.stringify(message), signal });
}
