/**
 * The counters of budgets that a batch moves: each is read once, and written once, behind the batch's last entry.
 *
 * Owns: what they stand at between two entries, added in the order of the entries. Never: outlives its transaction.
 */
import { addCharge, type Charge } from "../../contract/budget.ts";
import { toCharge } from "../tables/columns.ts";
import type { Connection } from "./transaction.ts";

interface Counter {
  readonly payer: string;
  readonly name: string;
  standing: Charge;
  moved: boolean;
}

export class BatchCharges {
  readonly #statements: Connection["statements"];
  readonly #counters = new Map<string, Counter>();

  constructor({ statements }: Connection) {
    this.#statements = statements;
  }

  /** `payer`: the text of its owner. */
  standingOf(payer: string, name: string): Charge {
    return this.#counterOf(payer, name).standing;
  }

  add(payer: string, name: string, amounts: Charge): void {
    const counter = this.#counterOf(payer, name);
    counter.standing = addCharge(counter.standing, amounts);
    counter.moved = true;
  }

  write(): void {
    for (const { payer, name, standing, moved } of this.#counters.values()) {
      const { tokens, money, invocations, wall_ms } = standing;
      if (moved) this.#statements.writeCharge.run(payer, name, tokens, money, invocations, wall_ms);
    }
  }

  #counterOf(payer: string, name: string): Counter {
    const place = `${payer}\n${name}`;
    let counter = this.#counters.get(place);
    if (counter === undefined) {
      counter = { payer, name, standing: toCharge(this.#statements.chargesOfCounter.get(payer, name)), moved: false };
      this.#counters.set(place, counter);
    }
    return counter;
  }
}
