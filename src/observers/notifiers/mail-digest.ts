/**
 * A digest: one mail to each address with the gates that wait for its owner. It is a capability, so that a schedule
 * sends it at the times of a time zone, once over all processes, and the ledger holds who was sent what.
 *
 * 1.  The list is read under the rights of the principal in whose name the schedule runs.
 * 2.  An address that the server refuses fails by itself; the others get their mails.
 * 3.  A mail that is sent again after a crash has the same Message-ID.
 */
import { z } from "zod";
import type { AuthContext, Caller } from "../../contract/auth-context.ts";
import { sha256 } from "../../contract/digest.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { gateCursor } from "../../contract/page.ts";
import {
  type CapabilityDefinition,
  defineCapability,
  defineOperator,
  definePolicySet,
  type Kernel,
  type ListedGate,
  type RuleSet,
} from "../../index.ts";
import { ConsoleUrl, linkTo } from "../../protocol/console-link.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { deciderAddresses, MailAddress, Recipients } from "./find-recipients.ts";
import { type Letter, Sending, sendMail, toMarkup, toPage } from "./send-mail.ts";

const Options = z.strictObject({
  ...Recipients.pick({ roles: true, people: true }).shape,
  ...Sending.shape,
  /** The console's address, for the links to the gates. */
  consoleUrl: ConsoleUrl,
  /** The gates that a mail lists at most; it counts the others. 50 by default. */
  maxGates: z.int().min(1).max(500).default(50),
  /** True: no title or summary is sent, only the operator, the due time and the link. */
  linkOnly: z.boolean().default(false),
});
/** The mail server, the addresses of roles and people, and the console. */
export interface MailDigestOptions extends Readonly<z.input<typeof Options>> {}
type Read = z.output<typeof Options>;

/** A digest by mail, to be given to a kernel and begun by a schedule. */
export interface MailDigest {
  /** `Desk.Digest`: lists what waits, and sends each address its mail. */
  readonly capability: CapabilityDefinition;
  /** Lifts the default rule that asks a person before something is sent, for the mails of the digest alone. */
  readonly policies: RuleSet;
  /** Names the kernel whose gates are listed. */
  readonly read: (kernel: Pick<Kernel, "gates">) => void;
}

const digestRef = moduleRef(6, "notifiers", "mailDigest");

const Line = z.object({
  workflow_id: z.string(),
  gate_id: z.string(),
  operator: z.string(),
  due_at: z.string().nullable(),
  title: z.string().optional(),
  summary: z.string().optional(),
});
type Line = z.infer<typeof Line>;

/** The mail to one address: the number of all gates that wait, and the first of them. */
const DigestLetter = z.object({ to: MailAddress, waiting: z.int().positive(), lines: z.array(Line) });
type DigestLetter = z.infer<typeof DigestLetter>;

/** Makes a digest by mail. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
export function mailDigest(given: MailDigestOptions): MailDigest {
  const options = readStrictly(Options, given, { what: "mailDigest", source: digestRef });
  let gates: Kernel["gates"] | null = null;
  const list = defineOperator({
    name: "Desk.ListWaiting",
    description: "Lists the open gates for each address of those who may decide them.",
    input: z.object({}),
    output: z.object({ letters: z.array(DigestLetter) }),
    effect: "read",
    run: async ({ context }) => {
      const { tenant_id, auth } = context;
      const read = gates ?? refuseUnread();
      return { letters: await writeLetters(options, read, { tenant_id, principal: principalOf(auth) }) };
    },
  });
  const send = defineOperator({
    name: "Desk.SendDigest",
    description: "Sends one mail with the gates that wait for the owner of an address.",
    input: DigestLetter,
    output: z.object({ to: MailAddress }),
    effect: "external_send",
    idempotent: true,
    run: async ({ input, context }) => {
      const refused = await sendMail(options, {
        to: [input.to],
        letter: () => compose(options, input, context.workflow_id),
      });
      if (refused.length > 0) raise(kernelError("T6_NOTICE_REFUSED", `the server refused ${input.to}`, digestRef));
      return { to: input.to };
    },
  });
  const capability = defineCapability({
    intentType: "Desk.Digest",
    version: "1.0",
    description: "Sends each person who may decide a mail with the gates that wait.",
    input: z.object({}),
    operators: [list, send],
    plan: ({ step, each, call }) => {
      const found = step({ step_id: "list", name: "List what waits", operator: "Desk.ListWaiting", params: {} });
      const sent = each({
        step_id: "send",
        name: "Send the mails",
        items: found.output.letters,
        do: ({ to, waiting, lines }) => call({ operator: "Desk.SendDigest", params: { to, waiting, lines } }),
        key: ({ to }) => to,
        tolerate: "all",
      });
      return { reasoning: "One mail to each address with what waits for its owner.", steps: [found, sent] };
    },
  });
  return Object.freeze({
    capability,
    policies: lifted,
    read: (kernel: Pick<Kernel, "gates">): void => {
      gates = (filter, caller) => kernel.gates(filter, caller);
    },
  });
}

const lifted = definePolicySet({
  version: "digest-1",
  rules: [
    {
      name: "digest.send",
      stages: ["action"],
      when: { operators: ["Desk.SendDigest"] },
      decision: "ALLOW",
      lifts: "default.external_send",
      reason: "a digest goes only to addresses that the host has configured",
    },
  ],
});

const refuseUnread = (): never =>
  raise(kernelError("T6_NOTICE_FAILED", "the digest has no kernel: call read(kernel) after createKernel", digestRef));

/** Reads all gates that the caller may see, page by page, and returns a letter for each address. */
async function writeLetters(options: Read, read: Kernel["gates"], caller: Caller): Promise<DigestLetter[]> {
  const letters = new Map<string, DigestLetter>();
  for (let after: string | undefined; ; ) {
    const page = await read({ limit: 200, sort: "due", ...(after !== undefined && { after }) }, caller);
    const last = page.at(-1);
    if (last === undefined) return [...letters.values()];
    for (const gate of page) addGate(letters, gate, options);
    after = gateCursor(last, "due");
  }
}

function addGate(letters: Map<string, DigestLetter>, gate: ListedGate, options: Read): void {
  const line = lineOf(gate, options.linkOnly);
  const assigned = gate.conversation?.assigned_to?.id;
  const ofAssigned = Object.entries(options.people).flatMap(([id, to]) => (id === assigned ? [to] : []));
  for (const to of new Set([...deciderAddresses(gate, options), ...ofAssigned])) {
    const letter = letters.get(to) ?? { to, waiting: 0, lines: [] };
    const lines = letter.lines.length < options.maxGates ? [...letter.lines, line] : letter.lines;
    letters.set(to, { to, waiting: letter.waiting + 1, lines });
  }
}

const lineOf = ({ workflow_id, gate_id, operator, due_at, title, summary }: ListedGate, linkOnly: boolean): Line => ({
  ...{ workflow_id, gate_id, operator, due_at },
  ...(!linkOnly && { title, ...(summary !== undefined && { summary }) }),
});

const principalOf = ({ principal_id, principal_type, role }: AuthContext): Caller["principal"] => ({
  type: principal_type,
  id: principal_id,
  role,
});

/** Returns the mail; its Message-ID is the same for the same digest and address. */
function compose(options: Read, { to, waiting, lines }: DigestLetter, workflowId: string): Letter {
  const { from, consoleUrl } = options;
  const id = sha256(`${workflowId}/${to}`).slice(0, 32);
  const items = lines.map((line) => ({
    title: showLine(line.title ?? line.operator),
    more: [
      line.due_at === null ? "no due time" : `due ${line.due_at}`,
      ...(line.summary ? [showLine(line.summary)] : []),
    ],
    url: linkTo(consoleUrl, { ...line, gate: line }),
  }));
  const subject = waiting === 1 ? "1 gate waits for a decision" : `${waiting} gates wait for a decision`;
  const left = waiting - lines.length;
  const end = left === 0 ? "All that waits:" : `${left} more, and all that waits:`;
  return {
    messageId: `<${id}@${from.slice(from.lastIndexOf("@") + 1)}>`,
    headers: { "Auto-Submitted": "auto-generated" },
    subject,
    text: toText(subject, items, `${end} ${consoleUrl}`),
    html: toHtml(subject, items, `${end} <a href="${toMarkup(consoleUrl)}">${toMarkup(consoleUrl)}</a>`),
  };
}

interface Item {
  readonly title: string;
  readonly more: readonly string[];
  readonly url: string;
}

const toText = (subject: string, items: readonly Item[], end: string): string =>
  `${[subject, ...items.map(({ title, more, url }) => [title, ...more, url].join("\n  ")), end].join("\n\n")}\n`;

function toHtml(subject: string, items: readonly Item[], end: string): string {
  const rows = items.map(
    ({ title, more, url }) =>
      `<li><a href="${toMarkup(url)}">${toMarkup(title)}</a><br>${more.map(toMarkup).join("<br>")}</li>`,
  );
  return toPage(subject, `<ol>\n${rows.join("\n")}\n</ol>\n<p>${end}</p>`);
}
