/**
 * A count of workflows by tenant and principal, and the limit that keeps one more out.
 *
 * 1.  A tenant and a principal may have a share of all places, so that others find some free however much one asks for.
 */
import type { Running } from "../../contract/messages/t7.ts";

/** The number of places, and the percentage of them that one tenant and one principal may have. */
export interface Shares {
  readonly places: number;
  readonly tenantPercent: number;
  readonly principalPercent: number;
}

/** The limit that is reached, and how many places it allows. */
export interface Reached {
  readonly of: "all" | "tenant" | "principal";
  readonly places: number;
}

export class ShareCount {
  readonly #holders = new Map<string, readonly string[]>();
  readonly #held = new Map<string, number>();

  get size(): number {
    return this.#holders.size;
  }

  has(workflowId: string): boolean {
    return this.#holders.has(workflowId);
  }

  /** Returns the limit that keeps this one out; null where there is a place for it. */
  reachedBy(one: Running, { places, tenantPercent, principalPercent }: Shares): Reached | null {
    if (this.size >= places) return { of: "all", places };
    const [tenant = "", principal] = namesOf(one);
    const ofTenant = shareOf(places, tenantPercent);
    if (this.#heldBy(tenant) >= ofTenant) return { of: "tenant", places: ofTenant };
    const ofPrincipal = shareOf(places, principalPercent);
    const isFull = principal !== undefined && this.#heldBy(principal) >= ofPrincipal;
    return isFull ? { of: "principal", places: ofPrincipal } : null;
  }

  add(one: Running): void {
    if (this.has(one.workflow_id)) return;
    const names = namesOf(one);
    this.#holders.set(one.workflow_id, names);
    for (const name of names) this.#held.set(name, this.#heldBy(name) + 1);
  }

  release(workflowId: string): void {
    const names = this.#holders.get(workflowId) ?? [];
    this.#holders.delete(workflowId);
    for (const name of names) {
      const left = this.#heldBy(name) - 1;
      if (left > 0) this.#held.set(name, left);
      else this.#held.delete(name);
    }
  }

  #heldBy(name: string): number {
    return this.#held.get(name) ?? 0;
  }
}

const shareOf = (places: number, percent: number): number => Math.max(1, Math.floor((places * percent) / 100));

/** Returns the name of the tenant, then of the principal if it is known. */
export function namesOf({ tenant_id, principal }: Running): readonly string[] {
  const tenant = JSON.stringify([tenant_id]);
  return principal === null ? [tenant] : [tenant, JSON.stringify([tenant_id, principal.type, principal.id])];
}
