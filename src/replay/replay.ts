/**
 * Replay: from one workflow's ledger alone, with recorded results, deciding comes to the same events, ids, hashes and chain
 * head, or the first event that differs is named (C-37).
 *
 * Owns: what a replay is made with, and its judgement. Never: runs an operator, opens a store, writes.
 * R1  Inputs are given in the order in which the record says they came; an answer is heard where it was.
 * R2  Time is the instant of the input that is decided; only a host's rule that gives no answer has its limit in real time.
 * R3  A wrong record is refused before anything is replayed; a foreign or damaged one ends in a named difference.
 */
import { foldEvents } from "../../machines/fold.ts";
import { quietLogger, quietTelemetry } from "../adapters/quiet-telemetry.ts";
import { seededRandom } from "../adapters/seeded-random.ts";
import { wallClock } from "../adapters/wall-clock.ts";
import { verifyChain } from "../contract/chain.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { type LedgerEvent, payloadOf } from "../contract/event.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Replay } from "../contract/replay.ts";
import { openTurns, type TurnRow } from "../contract/turn.ts";
import type { Registry } from "../engine/actors/registry.ts";
import { sealAgain } from "../engine/log/compare-turns.ts";
import { refuseUnreadable } from "../engine/log/read-turns.ts";
import { type KernelOptions, resolveOptions } from "../kernel/options.ts";
import { fillRegistry, KernelParts, openMemoryLedger } from "../kernel/parts.ts";
import { createSettings } from "../kernel/tiers.ts";
import type { CapabilityRegistry } from "../tiers/t5-ego/admission/capability-registry.ts";
import { keysIn } from "./recorded-keys.ts";
import { RecordedLog } from "./recorded-log.ts";
import { Replaying } from "./replaying.ts";

/** What a replay is made with: the host's options, and what is registered in its process. */
export interface Rules {
  readonly options: KernelOptions;
  readonly registry: Registry;
  readonly capabilityRegistry: CapabilityRegistry;
}

const replayRef = moduleRef(0, "kernel", "replay");

/**
 * Replays the rows of one workflow, as `Kernel.export` gives them, under the rules of these options: capabilities, operators,
 * policies, limits. Nothing is run, and no ledger is touched. Rejects as `Kernel.replay` does.
 */
export const replayRows = async (rows: readonly TurnRow[], options: KernelOptions): Promise<Replay> =>
  replayTurns(rows, { options, ...fillRegistry(options, resolveOptions(options).budgets) });

/**
 * As `replayRows`, with what a kernel has registered.
 * @throws KernelErrorException T0_LEDGER_CORRUPT for a broken chain or a body that is missing,
 * T4_WORKFLOW_NOT_FOUND for the log of a refused request, T1_NORMALIZE_UNKNOWN_INTENT or T4_OPERATOR_UNKNOWN for what is not
 * registered in this process.
 */
export async function replayTurns(rows: readonly TurnRow[], rules: Rules): Promise<Replay> {
  try {
    return await replaySound(rows, rules);
  } catch (thrown) {
    // A record of which nothing can be made, though its chain is sound: no kernel wrote it.
    return refuseUnreadable(String(rows?.[0]?.stream), thrown);
  }
}

async function replaySound(rows: readonly TurnRow[], rules: Rules): Promise<Replay> {
  const events = openRecord(rows);
  requireRegistered(events, rules);
  const log = new RecordedLog(rows);
  const pause: Pause = { ms: 0 };
  const parts = await openTiers(log, rules, pause);
  try {
    const { options } = rules;
    const settings = { ...createSettings(parts.resolved, rules.registry), middleware: options.middleware ?? [] };
    const waits = (ms: number): void => {
      pause.ms = ms;
    };
    await new Replaying(log, { settings, parts, options, waits }).run();
  } finally {
    parts.close();
  }
  return judge(rows, log);
}

function judge(rows: readonly TurnRow[], log: RecordedLog): Replay {
  const { workflow_id } = log.identity;
  const sealed = log.difference === null ? sealAgain(rows, log.shared) : null;
  const head = sealed !== null && "head" in sealed ? sealed.head : null;
  const difference = log.difference ?? (sealed !== null && "difference" in sealed ? sealed.difference : null);
  return { workflow_id, identical: difference === null, events: log.position, head, difference };
}

/** Options of a host that have no part in a replay: they watch, keep, or reach outside. */
const outside: ReadonlySet<string> = new Set([
  "ledger",
  "inspect",
  "notify",
  "initialize",
  "artifacts",
  "planner",
  "classifier",
  "retrieval",
  "middleware",
] satisfies (keyof KernelOptions)[]);

/** The tiers as the host's rules make them, with nothing behind them that keeps or reaches anything. */
async function openTiers(log: RecordedLog, rules: Rules, pause: Pause): Promise<KernelParts> {
  const { options, registry, capabilityRegistry } = rules;
  const at = log.now;
  const kept = Object.fromEntries(Object.entries(options).filter(([name]) => !outside.has(name))) as KernelOptions;
  const resolved = resolveOptions({
    ...kept,
    ...(options.approverKeys === undefined ? {} : { approverKeys: keysIn(log.events) }),
    random: seededRandom(1),
    clock: { now: () => at, setTimer: (due, fire) => limitInTime(pause, due - at, fire) },
    logger: quietLogger,
    telemetry: quietTelemetry,
  });
  const parts = new KernelParts(resolved, await openMemoryLedger(), {
    capabilityRegistry,
    registry,
    patchTier: (tier) => tier,
  });
  parts.supervision.root.send({ type: "OPENED" });
  return parts;
}

/** How long the record stood still behind the question that is asked. */
interface Pause {
  ms: number;
}

/** What a rule gets that seems not to have answered; real ms. */
const graceMs = 200;

/** A host's rule has its limit in real time; where the record stood still as long as that, it gave no answer then either. */
function limitInTime(pause: Pause, limitMs: number, fire: () => void): () => void {
  const ranOut = pause.ms >= limitMs;
  return wallClock.setTimer(wallClock.now() + (ranOut ? Math.min(graceMs, limitMs) : limitMs), fire, true);
}

/** The events of a sound record. */
function openRecord(rows: readonly TurnRow[]): readonly LedgerEvent[] {
  const broken = verifyChain(rows);
  if (broken !== null)
    raise(
      kernelError(
        "T0_LEDGER_CORRUPT",
        `${broken.stream} cannot be replayed: its chain is broken at sequence ${broken.sequence} (${broken.reason})`,
        replayRef,
        { detail: { broken } },
      ),
    );
  const events = openTurns(rows);
  if (new Set(events.map((event) => event.event_id)).size < events.length)
    raise(
      kernelError("T0_LEDGER_CORRUPT", `${rows[0]?.stream} holds one event twice: no kernel wrote that`, replayRef),
    );
  // What nobody could read as a workflow throws here, before anything is replayed.
  if (events[0]?.event_type === "INTENT_RECEIVED" && foldEvents(events) !== null) return events;
  return raise(kernelError("T4_WORKFLOW_NOT_FOUND", "these rows hold no workflow to replay", replayRef));
}

function requireRegistered(events: readonly LedgerEvent[], { registry }: Rules): void {
  const { intent } = payloadOf(events[0] as LedgerEvent, "INTENT_RECEIVED");
  registry.getCapability(intent.type, intent.version);
  const started = events.filter((e) => e.event_type === "ACTION_STARTED").map((e) => payloadOf(e, "ACTION_STARTED"));
  const missing = started.find((a) => registry.findOperator(a.operator_name, a.operator_version) === null);
  if (missing === undefined) return;
  const name = `${missing.operator_name}@${missing.operator_version}`;
  raise(
    kernelError(
      "T4_OPERATOR_UNKNOWN",
      `operator ${name} is not registered in this process; load the package that brings it`,
      replayRef,
      { detail: { operator: missing.operator_name } },
    ),
  );
}
