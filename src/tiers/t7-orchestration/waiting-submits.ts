/**
 * The submits that wait for a place: bounded in number and in time, and served in turn.
 *
 * Owns: the order in which those who wait get the places that become free. Never: knows which place is free for whom.
 * 1.  A place goes to the tenants in turn, and within a tenant to its principals in turn, first come first served for
 *     each.
 * 2.  One tenant and one principal may fill a share of the queue, as of the places, so that others find room to wait.
 * 3.  A submit waits for `limits.submitWaitMs` at most, and is then refused with what refused it a place.
 */
import { type KernelError, KernelErrorException } from "../../contract/error.ts";
import type { Running } from "../../contract/messages/t7.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import { namesOf, ShareCount, type Shares } from "./share-count.ts";

/** A submit that waits. */
interface Waiting {
  readonly one: Running;
  readonly admit: () => void;
  readonly refuse: (error: KernelError) => void;
}

/** Those who wait of one tenant, by principal. */
type Line = Map<string, Waiting[]>;

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
   * Waits until `serve` gives the submit a place.
   * @param refusal the error that refused the place.
   * @throws KernelErrorException with the refusal: at once where the queue has no room or `submitWaitMs` is 0, else
   * when the time is over.
   */
  wait(one: Running, refusal: KernelError, { clock, limits }: Pick<Runtime, "clock" | "limits">): Promise<void> {
    const { submitWaitMs } = limits;
    if (submitWaitMs === 0 || this.#count.reachedBy(one, sharesOf(limits)) !== null)
      return Promise.reject(new KernelErrorException(refusal));
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        cancel();
        this.#remove(waiting);
      };
      const waiting: Waiting = {
        one,
        admit() {
          leave();
          resolve();
        },
        refuse(error) {
          leave();
          reject(new KernelErrorException(error));
        },
      };
      const cancel = clock.setTimer(clock.now() + submitWaitMs, () => waiting.refuse(refusal));
      this.#append(waiting);
    });
  }

  /** Gives places to those who wait, in turn, for as long as `take` takes one of them in. */
  serve(take: (one: Running) => boolean): void {
    while (this.#serveNext(take));
  }

  /** Refuses the submit of this workflow. Returns whether it waited. */
  refuse(workflowId: string, error: KernelError): boolean {
    const waiting = this.#waiting.get(workflowId);
    waiting?.refuse(error);
    return waiting !== undefined;
  }

  /** Refuses all who wait. */
  refuseAll(error: KernelError): void {
    for (const waiting of [...this.#waiting.values()]) waiting.refuse(error);
  }

  #serveNext(take: (one: Running) => boolean): boolean {
    for (const [tenant, line] of this.#lines)
      for (const [principal, [first]] of line) {
        if (first === undefined || !take(first.one)) continue;
        moveLast(line, principal);
        moveLast(this.#lines, tenant);
        first.admit();
        return true;
      }
    return false;
  }

  #append(waiting: Waiting): void {
    this.#count.add(waiting.one);
    this.#waiting.set(waiting.one.workflow_id, waiting);
    const [tenant = "", principal = ""] = namesOf(waiting.one);
    const line: Line = this.#lines.get(tenant) ?? new Map();
    this.#lines.set(tenant, line);
    line.set(principal, [...(line.get(principal) ?? []), waiting]);
  }

  #remove(waiting: Waiting): void {
    this.#count.release(waiting.one.workflow_id);
    this.#waiting.delete(waiting.one.workflow_id);
    const [tenant = "", principal = ""] = namesOf(waiting.one);
    const line = this.#lines.get(tenant);
    const others = line?.get(principal)?.filter((one) => one !== waiting) ?? [];
    if (others.length > 0) line?.set(principal, others);
    else line?.delete(principal);
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
