/**
 * The submits and accepted workflows that wait for a place: submits are bounded in number, and all are served in turn.
 *
 * Owns: the order in which those who wait get the places that become free. Never: knows which place is free for whom.
 * 1.  A place goes to the tenants in turn, and within a tenant to its principals in turn, first come first served for
 *     each.
 * 2.  One tenant and one principal may fill a share of the queue, as of the places, so that others find room to wait.
 * 3.  A submit that has waited for `limits.submitWaitMs` is accepted, and its workflow keeps its turn.
 */
import { type KernelError, KernelErrorException } from "../../contract/error.ts";
import type { Running } from "../../contract/messages/t7.ts";
import type { InFlightWait } from "../../contract/queue.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import { namesOf, ShareCount, type Shares } from "./share-count.ts";

/** A submit, or an accepted workflow, that waits. */
interface Waiting {
  readonly one: Running;
  /** Resolves once it has a place, and rejects if it is refused one. */
  readonly place: PromiseWithResolvers<void>;
  isAccepted: boolean;
}

/** Those who wait of one tenant, by principal, first come first. */
type Line = Map<string, Set<Waiting>>;

export class WaitingSubmits {
  /** By tenant. Who was served last stands last, in each of the two. */
  readonly #lines = new Map<string, Line>();
  readonly #count = new ShareCount();
  /** All who wait, by the ids of their workflows. */
  readonly #waiting = new Map<string, Waiting>();

  get size(): number {
    return this.#count.size;
  }

  /**
   * Waits until `serve` gives the submit a place (null), for `limits.submitWaitMs` at most; returns then the wait with
   * which its workflow is accepted, which keeps its turn.
   * @param refusal the error that refused the place.
   * @throws KernelErrorException with the refusal, at once, where the queue has no room.
   */
  wait(
    one: Running,
    refusal: KernelError,
    { clock, limits }: Pick<Runtime, "clock" | "limits">,
  ): Promise<InFlightWait | null> {
    if (this.#count.reachedBy(one, sharesOf(limits)) !== null) return Promise.reject(new KernelErrorException(refusal));
    const waits = { limit: limits.maxInFlight, ahead: this.size };
    const waiting = this.#append(one, limits.submitWaitMs === 0);
    if (waiting.isAccepted) return Promise.resolve(waits);
    return new Promise((resolve, reject) => {
      const cancel = clock.setTimer(clock.now() + limits.submitWaitMs, () => {
        waiting.isAccepted = true;
        resolve(waits);
      });
      waiting.place.promise.finally(cancel).then(() => resolve(null), reject);
    });
  }

  /** Lets an accepted workflow wait; resolves once it has a place. */
  join(one: Running): Promise<void> {
    return this.#append(one, true).place.promise;
  }

  /** Returns the promise of a place for an accepted workflow that waits; null if it does not. */
  placeOf(workflowId: string): Promise<void> | null {
    return this.#waiting.get(workflowId)?.place.promise ?? null;
  }

  /** Gives places to those who wait, in turn, for as long as `take` takes one of them in. */
  serve(take: (one: Running) => boolean): void {
    while (this.#serveNext(take));
  }

  /** Refuses the submit of this workflow, unless it has been accepted. Returns whether it waited. */
  refuse(workflowId: string, error: KernelError): boolean {
    const waiting = this.#waiting.get(workflowId);
    if (waiting?.isAccepted === false) this.#refuse(waiting, error);
    return waiting !== undefined;
  }

  /** Refuses all submits that wait; workflows that are accepted keep their turn. */
  refuseAll(error: KernelError): void {
    for (const waiting of [...this.#waiting.values()]) if (!waiting.isAccepted) this.#refuse(waiting, error);
  }

  /** Forgets an accepted workflow, which has ended or goes on in another process. */
  leave(workflowId: string, error: KernelError): void {
    const waiting = this.#waiting.get(workflowId);
    if (waiting?.isAccepted === true) this.#refuse(waiting, error);
  }

  #refuse(waiting: Waiting, error: KernelError): void {
    this.#remove(waiting);
    waiting.place.reject(new KernelErrorException(error));
  }

  #serveNext(take: (one: Running) => boolean): boolean {
    for (const [tenant, line] of this.#lines)
      for (const [principal, [first]] of line) {
        if (first === undefined || !take(first.one)) continue;
        moveLast(line, principal);
        moveLast(this.#lines, tenant);
        this.#remove(first);
        first.place.resolve();
        return true;
      }
    return false;
  }

  #append(one: Running, isAccepted: boolean): Waiting {
    const waiting: Waiting = { one, place: Promise.withResolvers<void>(), isAccepted };
    // An accepted workflow that nobody drives here yet asks for its place later.
    waiting.place.promise.catch(() => undefined);
    this.#count.add(waiting.one);
    this.#waiting.set(waiting.one.workflow_id, waiting);
    const [tenant = "", principal = ""] = namesOf(waiting.one);
    const line: Line = this.#lines.get(tenant) ?? new Map();
    this.#lines.set(tenant, line);
    line.set(principal, (line.get(principal) ?? new Set()).add(waiting));
    return waiting;
  }

  #remove(waiting: Waiting): void {
    this.#count.release(waiting.one.workflow_id);
    this.#waiting.delete(waiting.one.workflow_id);
    const [tenant = "", principal = ""] = namesOf(waiting.one);
    const line = this.#lines.get(tenant);
    const own = line?.get(principal);
    own?.delete(waiting);
    if (own?.size === 0) line?.delete(principal);
    if (line?.size === 0) this.#lines.delete(tenant);
  }
}

function moveLast<T>(map: Map<string, T>, key: string): void {
  const value = map.get(key);
  if (value === undefined) return;
  map.delete(key);
  map.set(key, value);
}

const sharesOf = (limits: Runtime["limits"]): Shares => ({
  places: limits.maxWaitingSubmits,
  tenantPercent: limits.inFlightTenantPercent,
  principalPercent: limits.inFlightPrincipalPercent,
});
