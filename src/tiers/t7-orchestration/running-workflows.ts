/**
 * The workflows that run, by who asked for them, and the places that each may take of `limits.maxInFlight`.
 *
 * Owns: the count of each tenant and principal, and the refusal beyond a share. Never: runs a workflow.
 * S1  A tenant and a principal may take a share of all places, so that others find some free however much one asks for.
 */
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { Running } from "../../contract/messages/t7.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Limits } from "../../engine/actors/runtime.ts";

export type ShareLimits = Pick<Limits, "maxInFlight" | "inFlightTenantPercent" | "inFlightPrincipalPercent">;

const spawningRef = moduleRef(7, "agent_spawning", "spawn");

export class RunningWorkflows {
  readonly #holders = new Map<string, readonly string[]>();
  readonly #held = new Map<string, number>();

  get size(): number {
    return this.#holders.size;
  }

  /** @throws KernelErrorException T7_SPAWN_INSUFFICIENT_RESOURCES, T7_SPAWN_SHARE_EXCEEDED. */
  admit(one: Running, limits: ShareLimits): void {
    if (this.#holders.has(one.workflow_id)) return;
    const { maxInFlight, inFlightTenantPercent, inFlightPrincipalPercent } = limits;
    if (this.size >= maxInFlight) refuseAll(maxInFlight);
    const shares: readonly Share[] = [
      { of: "tenant", limit: "inFlightTenantPercent", maxInFlight, percent: inFlightTenantPercent },
      { of: "principal", limit: "inFlightPrincipalPercent", maxInFlight, percent: inFlightPrincipalPercent },
    ];
    for (const [i, name] of namesOf(one).entries()) this.#requireShare(name, shares[i] as Share);
    this.add(one);
  }

  /** Takes in what runs already. */
  add(one: Running): void {
    const names = namesOf(one);
    this.#holders.set(one.workflow_id, names);
    for (const name of names) this.#held.set(name, (this.#held.get(name) ?? 0) + 1);
  }

  release(workflowId: string): void {
    const names = this.#holders.get(workflowId) ?? [];
    this.#holders.delete(workflowId);
    for (const name of names) {
      const left = (this.#held.get(name) ?? 0) - 1;
      if (left > 0) this.#held.set(name, left);
      else this.#held.delete(name);
    }
  }

  #requireShare(name: string, share: Share): void {
    const places = Math.max(1, Math.floor((share.maxInFlight * share.percent) / 100));
    if ((this.#held.get(name) ?? 0) >= places) refuseShare(share, places);
  }
}

interface Share {
  readonly of: "tenant" | "principal";
  readonly limit: keyof ShareLimits;
  readonly maxInFlight: number;
  readonly percent: number;
}

/** Of the tenant, then of the principal. */
function namesOf({ tenant_id, principal }: Running): readonly string[] {
  const tenant = JSON.stringify([tenant_id]);
  return principal === null ? [tenant] : [tenant, JSON.stringify([tenant_id, principal.type, principal.id])];
}

function refuseAll(limit: number): never {
  const message = `limits.maxInFlight = ${limit} workflows are running`;
  return raise(kernelError("T7_SPAWN_INSUFFICIENT_RESOURCES", message, spawningRef, { detail: { limit } }));
}

function refuseShare({ of, limit, percent, maxInFlight }: Share, places: number): never {
  const message = `this ${of} has ${places} workflows running, its share of maxInFlight = ${maxInFlight} (limits.${limit} = ${percent})`;
  return raise(kernelError("T7_SPAWN_SHARE_EXCEEDED", message, spawningRef, { detail: { [limit]: percent, places } }));
}
