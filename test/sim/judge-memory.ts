/**
 * What a workflow was told of memory stood there at one instant between its request and its context: of its tenant, and
 * of its thread where that is asked for, the newest of each key. What a writer was told is written is there, once.
 */
import { isDeepStrictEqual } from "node:util";
import type { ContextBundle, ParsedMemoryRecord } from "../../src/contract/context-bundle.ts";
import { payloadOf } from "../../src/contract/event.ts";
import type { Durable, OutsideWorld } from "./outside-world.ts";
import type { Story } from "./story.ts";

interface Written extends ParsedMemoryRecord {
  readonly at: number;
}

export function judgeMemory({ memory, limits }: Story, { durable, remembered }: OutsideWorld): readonly string[] {
  if (!memory) return [];
  const written = durable.flatMap(({ at, event }): readonly Written[] =>
    event.event_type === "MEMORY_WRITTEN" ? [{ ...payloadOf(event, "MEMORY_WRITTEN").record, at }] : [],
  );
  const hosts = written.filter(({ source }) => source === "story");
  const byWord = Map.groupBy(hosts, ({ value }) => (value as { readonly n?: unknown }).n);
  const begun = new Map(durable.toReversed().map(({ at, event }) => [event.workflow_id, at]));
  return [
    ...[...remembered].flatMap((n) => (byWord.has(n) ? [] : [`remembered: ${n} is nowhere`])),
    ...[...byWord].flatMap(([n, { length }]) => (length > 1 ? [`remembered: ${n} is written ${length} times`] : [])),
    // Where a bundle is cut to a size, what fits least is missing.
    ...(limits.maxBundleChars === undefined ? durable : []).flatMap((one) =>
      judgeContext(one, written, begun.get(one.event.workflow_id) ?? 0),
    ),
  ];
}

function judgeContext({ event, at }: Durable, written: readonly Written[], begun: number): readonly string[] {
  if (event.event_type !== "CONTEXT_BUILT") return [];
  const { bundle } = payloadOf(event, "CONTEXT_BUILT");
  const own = written.filter((one) => one.at < at && one.tenant_id === event.tenant_id);
  const instants = [begun, ...own.map((one) => one.at).filter((row) => row > begun)];
  const stood = instants.map((row) => partsOf(bundle, own.filter((one) => one.at <= row).reverse()));
  return Object.entries(partsIn(bundle)).flatMap(([part, told]) => {
    if (stood.some((parts) => isDeepStrictEqual(told, parts[part]))) return [];
    const was = JSON.stringify(stood[0]?.[part]);
    return [`known: ${event.workflow_id} was told ${JSON.stringify(told)} as ${part}, where ${was} stood`];
  });
}

type Parts = Readonly<Record<string, unknown>>;

const partsIn = ({ memory, semantic, profile, scope }: ContextBundle): Parts => ({
  thread: memory.map(shown),
  profile: profile.fields,
  scope: scope?.facts ?? {},
  semantic: semantic.map(shown),
});

/**
 * The same of what was written until then, newest first; nothing where neither a thread nor a scope is asked for, for
 * then no ledger is read. Which of it fits a text a host says: here, that it stood.
 */
function partsOf({ thread_id, profile, scope, semantic }: ContextBundle, written: readonly Written[]): Parts {
  const newest = thread_id === null && scope === null ? [] : newestOf(written);
  const find = (wanted: string) => newest.find(({ key }) => key === wanted);
  const thread = thread_id === null ? [] : newestOf(written.filter((one) => one.thread_id === thread_id));
  return {
    thread: thread.slice(0, 20).map(shown),
    profile: find(`profile:${profile.principal_id}`)?.value ?? {},
    scope: (scope && find(`scope:${scope.scope_type}:${scope.scope_id}`)?.value) ?? {},
    semantic: semantic.flatMap(({ key }) => find(key) ?? []).map(shown),
  };
}

const shown = ({ key, value }: Pick<Written, "key" | "value">) => [key, value];
const newestOf = (written: readonly Written[]): readonly Written[] =>
  written.filter(({ key }, i) => written.findIndex((other) => other.key === key) === i);
