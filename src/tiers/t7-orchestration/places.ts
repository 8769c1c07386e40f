/**
 * The places of a kernel: which workflows run, and which submits and accepted workflows wait for one of them to rest or
 * end.
 *
 * Owns: `limits.maxInFlight` with the shares of it, and the refusal of a submit that finds no room to wait. Never: runs
 * a workflow.
 * 1.  A submit that finds a place takes it at once: those who wait could not take that one.
 * 2.  A child gets its place at once, above the limit if need be: its parent holds one until the child is accepted.
 * 3.  A submit whose caller has left gets no place, whether it waits already or asks for its place later; an accepted
 *     workflow keeps its turn.
 */
import { type KernelError, raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { Running } from "../../contract/messages/t7.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { InFlightWait } from "../../contract/queue.ts";
import type { Limits, Runtime } from "../../engine/actors/runtime.ts";
import { type Reached, ShareCount, type Shares } from "./share-count.ts";
import { WaitingSubmits } from "./waiting-submits.ts";

const spawningRef = moduleRef(7, "agent_spawning", "spawn");

export class Places {
  #running = new ShareCount();
  readonly #waiting = new WaitingSubmits();
  /** Workflows whose callers left before a place was asked for. */
  readonly #abandoned = new Set<string>();

  /** Returns the number of workflows that run. */
  get running(): number {
    return this.#running.size;
  }

  /** Returns the number of submits and accepted workflows that wait for a place. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Gives a workflow a place (null); waits for one where none is free for it, and returns the wait with which it is
   * accepted if none has become free in time.
   * @throws KernelErrorException T7_SPAWN_INSUFFICIENT_RESOURCES, T7_SPAWN_SHARE_EXCEEDED, T7_SPAWN_ABANDONED;
   * T0_KERNEL_STOPPED, T0_TIER_CRASHED while it waits.
   */
  register(one: Running, runtime: Pick<Runtime, "clock" | "limits">): Promise<InFlightWait | null> | null {
    if (this.#abandoned.delete(one.workflow_id)) raise(abandoned());
    const reached = this.#take(one, runtime.limits);
    return reached === null ? null : this.#waiting.wait(one, refusalOf(reached, runtime.limits), runtime);
  }

  /** Resolves once an accepted workflow has a place; it joins those who wait if it is not among them yet. */
  enter(one: Running, limits: Limits): Promise<void> | null {
    const place = this.#waiting.placeOf(one.workflow_id);
    if (place !== null) return place;
    return this.#take(one, limits) === null ? null : this.#waiting.join(one);
  }

  /** Gives a workflow no place, unless it has one. It is remembered until it asks for a place or is released. */
  abandon(workflowId: string): void {
    if (this.#running.has(workflowId) || this.#waiting.refuse(workflowId, abandoned())) return;
    this.#abandoned.add(workflowId);
  }

  /** Frees the place of a workflow, or its turn, for who waits. */
  release(workflowId: string, limits: Limits): void {
    this.#abandoned.delete(workflowId);
    this.#running.release(workflowId);
    this.#waiting.leave(workflowId, abandoned());
    this.serve(limits);
  }

  /** Gives the places that are free to those who wait. */
  serve(limits: Limits): void {
    this.#waiting.serve((one) => this.#take(one, limits) === null);
  }

  /** Begins again with what runs already, after a crash of the tier; submits that waited are refused with it. */
  restart(running: readonly Running[], crash: KernelError): void {
    this.#running = new ShareCount();
    for (const one of running) this.#running.add(one);
    this.refuseWaiting(crash);
  }

  refuseWaiting(error: KernelError): void {
    this.#waiting.refuseAll(error);
  }

  #take(one: Running, limits: Limits): Reached | null {
    if (this.#running.has(one.workflow_id)) return null;
    const reached = one.isChild === true ? null : this.#running.reachedBy(one, sharesOf(limits));
    if (reached === null) this.#running.add(one);
    return reached;
  }
}

const sharesOf = (limits: Limits): Shares => ({
  places: limits.maxInFlight,
  tenantPercent: limits.inFlightTenantPercent,
  principalPercent: limits.inFlightPrincipalPercent,
});

const abandoned = (): KernelError =>
  kernelError("T7_SPAWN_ABANDONED", "the caller left before there was a place", spawningRef);

const retry_after_ms = 1_000;

function refusalOf({ of, places }: Reached, limits: Limits): KernelError {
  const { maxInFlight } = limits;
  if (of === "all") {
    const message = `limits.maxInFlight = ${maxInFlight} workflows are running`;
    return kernelError("T7_SPAWN_INSUFFICIENT_RESOURCES", message, spawningRef, {
      detail: { limit: maxInFlight, retry_after_ms },
    });
  }
  const limit = of === "tenant" ? "inFlightTenantPercent" : "inFlightPrincipalPercent";
  const percent = limits[limit];
  const message =
    `this ${of} has ${places} workflows running, its share of maxInFlight = ${maxInFlight} (limits.${limit} ` +
    `= ${percent})`;
  return kernelError("T7_SPAWN_SHARE_EXCEEDED", message, spawningRef, {
    detail: { [limit]: percent, places, retry_after_ms },
  });
}
