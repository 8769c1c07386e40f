/**
 * The ledger as one process reaches it: it dies or is paused there, at any side of a commit, and an append fails now
 * and then. From its death on nothing of a process reaches the ledger, and nothing comes back to it.
 */
import { KernelErrorException } from "../../src/contract/error.ts";
import { kernelError } from "../../src/contract/error-codes.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import type { Append, AppendReceipt, LedgerStore } from "../../src/ports/ledger-store.ts";
import { type StoreCall, wrapMembers } from "../../src/testing/wrap-members.ts";
import type { OutsideWorld } from "./outside-world.ts";

export type Side = "before" | "after";
export type Fault = "crash" | "pause" | "fail";

/** What happens at a commit of this process: at the n-th from now, on that side of it. */
interface Planned {
  readonly fault: Fault;
  readonly side: Side;
  commits: number;
}

const never = (): Promise<never> => new Promise(() => undefined);
const source = moduleRef(0, "faulty_store", "append");

export class FaultyStore {
  readonly store: LedgerStore;
  isDead = false;
  readonly #world: OutsideWorld;
  readonly #name: string;
  #planned: Planned[] = [];
  #thawed: Promise<void> | null = null;
  #thaw: () => void = () => undefined;

  constructor(under: LedgerStore, { world, name }: { readonly world: OutsideWorld; readonly name: string }) {
    this.#world = world;
    this.#name = name;
    this.store = {
      ...wrapMembers(under, (call) => this.#hold(call)),
      append: (batch) => this.#append(under, batch),
    };
  }

  get isPaused(): boolean {
    return this.#thawed !== null;
  }

  plan(fault: Fault, side: Side, commits: number): void {
    this.#planned.push({ fault, side, commits });
  }

  /** No more faults; who is paused is so still. */
  heal(): void {
    this.#planned = [];
  }

  crash(): void {
    if (this.isDead) return;
    this.isDead = true;
    this.#world.bury(this.#name);
  }

  pause(): void {
    if (this.#thawed !== null) return;
    this.#world.mark("paused");
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#thawed = promise;
    this.#thaw = resolve;
  }

  wake(): void {
    this.#thawed = null;
    this.#thaw();
  }

  /** Every other method: held while the process is paused, never answered once it is dead. */
  async #hold({ make }: StoreCall): Promise<unknown> {
    await this.#pass();
    const answer = await make();
    await this.#pass();
    return answer;
  }

  async #pass(): Promise<void> {
    if (this.isDead) await never();
    while (this.#thawed !== null) await this.#thawed;
    if (this.isDead) await never();
  }

  async #append(under: LedgerStore, batch: readonly Append[]): Promise<readonly AppendReceipt[]> {
    await this.#pass();
    for (const planned of this.#planned) planned.commits -= 1;
    await this.#meet("before");
    const receipts = await under.append(batch);
    for (const [i, receipt] of receipts.entries()) this.#tell(receipt, batch[i] as Append);
    await this.#meet("after");
    return receipts;
  }

  #tell(receipt: AppendReceipt, { row }: Append): void {
    if (receipt.ok) this.#world.keep(row, this.#name);
    else this.#world.mark(`append ${receipt.reason}`);
  }

  async #meet(side: Side): Promise<void> {
    const due = this.#planned.filter((planned) => planned.commits < 0 && planned.side === side);
    this.#planned = this.#planned.filter((planned) => !due.includes(planned));
    for (const { fault } of due) {
      this.#world.mark(`${fault} ${side} a commit`);
      if (fault === "crash") this.crash();
      if (fault === "pause") this.pause();
    }
    await this.#pass();
    if (due.some(({ fault }) => fault === "fail"))
      throw new KernelErrorException(kernelError("T0_LEDGER_UNAVAILABLE", "the store is away", source));
  }
}
