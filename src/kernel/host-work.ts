/**
 * The work of a kernel for its host: finds workflows that no process holds, wakes them, and drives them until they
 * park.
 *
 * Never: chooses place or time; the host does (`src/ports/host.ts`).
 */
import { z } from "zod";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { objectWith } from "../contract/host-object.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { callAside } from "../contract/maybe-promise.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { WorkflowLog } from "../engine/log/workflow-log.ts";
import type { Host, HostWork, Rested } from "../ports/host.ts";
import type { TakenUp, TakeUpKind } from "../ports/ledger-store.ts";
import { notFound } from "../tiers/t4-execution/decide/plan/decide.ts";
import type { Mailbox } from "../tiers/t4-execution/mailbox.ts";
import type { KernelParts } from "./parts.ts";

const driveRef = moduleRef(4, "ooda_loop", "drive");

export function createHostWork(parts: KernelParts): HostWork {
  const { resolved, store, registration, runtime, timers } = parts;
  return {
    owner: registration.owner,
    store,
    elsewhere: resolved.options.elsewhere,
    clock: resolved.clock,
    logger: runtime.logger,
    limits: resolved.limits,
    alarm: timers.alarm,
    upkeep: timers.upkeep,
    wake: (workflowId) => parts.wake(workflowId),
    drive: (workflowId) => drive(parts, workflowId),
    async takeUp(kind, limit) {
      const taken = await claimFree(parts, kind, limit);
      const failed = (workflow_id: string) => (error: unknown) =>
        runtime.logger.error({ error, workflow_id }, "a workflow could not be taken up");
      const goOn = async (one: TakenUp): Promise<void> => {
        await parts.executor.goOn(one);
        runtime.telemetry.mark?.("take_up", { workflow_id: one.head.workflow_id, kind });
      };
      await Promise.all(taken.map((one) => goOn(one).catch(failed(one.head.workflow_id))));
      return taken.map(({ head }) => head.workflow_id);
    },
    async findFree(kind, limit) {
      const taken = await claimFree(parts, kind, limit);
      // Workflows that have received input meanwhile continue here.
      const idle = taken.filter(({ head }) => parts.executor.awake(head.workflow_id) === null);
      await Promise.all(idle.map(({ head, lease }) => store.release(head.workflow_id, lease)));
      return idle.map(({ head }) => head);
    },
  };
}

/** Returns the host's notice of a workflow that left memory. */
export const restedOf = (log: WorkflowLog): Rested => ({
  workflow_id: log.identity.workflow_id,
  state: log.exists ? log.record.state : null,
  due_at: log.due,
  // One that was lost here has freed no place: it rests once more where it goes on.
  queued: log.exists && log.lost === null && log.record.intent.queue !== undefined,
  // A workflow whose first event was not kept has nothing to fold.
  lost: log.lost !== null && log.confirmed > 0 && log.lost.code !== "T4_WORKFLOW_LEASED",
});

async function claimFree(
  { store, registration, leases, halts, runtime, resolved }: KernelParts,
  kind: TakeUpKind,
  limit: number,
): Promise<readonly TakenUp[]> {
  await registration.confirm();
  if (kind === "abandoned") await leases.giveBack();
  // Another process may have lifted the halt: what is woken here is decided on what holds now.
  if (kind === "freed") await halts.look();
  return store.takeUp(kind, registration.owner, runtime.clock.now(), limit, resolved.options.elsewhere);
}

async function drive(parts: KernelParts, workflowId: string): Promise<Rested | null> {
  for (;;) {
    const mailbox = await parts.executor.wake(workflowId);
    if (mailbox === null) return (await parts.store.head(workflowId)) === null ? raise(notFound(workflowId)) : null;
    await untilRested(parts, mailbox);
    const { log, interrupted } = mailbox;
    if (log.lost !== null) raise(log.lost);
    if (interrupted) raise(kernelError("T0_KERNEL_STOPPED", "the kernel stops before the workflow rests", driveRef));
    // A workflow that only recorded a caller's command is parked now, and continues in the next round.
    if (!log.isOwnedElsewhere) return restedOf(log);
  }
}

/** Waits until a workflow is parked. One that a command holds back stays in memory. */
async function untilRested({ executor, restWaiters, runtime }: KernelParts, mailbox: Mailbox): Promise<void> {
  const { workflow_id } = mailbox.log.identity;
  const isHere = () => executor.awake(workflow_id) === mailbox && !mailbox.isAsleep && !mailbox.interrupted;
  for (let goesOn = true; goesOn && isHere(); )
    goesOn = await restWaiters.next(workflow_id, {
      until: runtime.clock.now() + runtime.limits.tailPollMs,
      background: true,
    });
}

const HostShape = z.object({ host: objectWith("start", "freed", "rested", "stop", "ended") });

/** Guards a host: if it throws, at once or later, nothing is affected; a notice that it missed is in the ledger. */
export function guardHost(host: Host, report: (error: unknown) => void): Host {
  readStrictly(HostShape, { host }, { what: "createKernel", source: moduleRef(0, "kernel", "createKernel") });
  const { dispatch } = host;
  return {
    start: async () => host.start(),
    freed: () => callAside(() => host.freed(), report),
    rested: (rested) => callAside(() => host.rested(rested), report),
    ...(dispatch !== undefined && {
      dispatch: (workflowId, sequence) => callAside(() => dispatch.call(host, workflowId, sequence), report),
    }),
    stop: () => callAside(() => host.stop(), report),
    ended: async () => {
      try {
        await host.ended();
      } catch (error) {
        report(error);
      }
    },
  };
}
