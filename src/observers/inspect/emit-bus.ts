/**
 * The messages of the bus to an inspector: each Signal as an arrow from its sending to its receiving tier, each Result
 * as an arrow back to the tier that asked.
 *
 * Never: shows a body.
 * 1.  A Result whose question was not seen is left out, because its receiver is not known.
 */
import { isErrorCode } from "../../contract/error-codes.ts";
import type { Inspection } from "../../contract/inspection.ts";
import type { BusItem, Signal } from "../../index.ts";
import type { ActorList } from "./actor-list.ts";

type Delivery = Extract<BusItem, { readonly signal: Signal }>;
type Answer = Exclude<BusItem, Delivery>;

interface PendingAsk {
  readonly by: string;
  readonly name: string;
  readonly trace: string;
  readonly at: number;
}

export class BusEmitter {
  readonly #actors: ActorList;
  /** Questions without an answer yet; the bus answers each once. */
  readonly #asked = new Map<string, PendingAsk>();

  constructor(actors: ActorList) {
    this.#actors = actors;
  }

  /** Drops the open questions: Signals were skipped, and their answers may be among them. */
  forget(): void {
    this.#asked.clear();
  }

  /** Returns the messages of an item; none if its trace is not wanted. */
  tell(item: BusItem, wants: (trace: string) => boolean): readonly Inspection[] {
    if ("to" in item) this.#emitSignal(item, wants);
    else this.#emitAnswer(item, wants);
    return this.#actors.take();
  }

  #emitSignal({ to, signal, reply }: Delivery, wants: (trace: string) => boolean): void {
    const { id, kind, trace_id, created_at } = signal;
    const asked: PendingAsk = {
      by: `t${signal.origin.tier}`,
      name: nameOf(signal),
      trace: trace_id,
      at: Date.parse(created_at),
    };
    if (reply === id) this.#asked.set(id, asked);
    if (!wants(trace_id)) return;
    this.#actors.at(`${id}.t${to}`, asked.at);
    this.#actors.receive(`t${to}`, asked.by, { type: asked.name, signal_id: id, trace_id, kind });
  }

  #emitAnswer({ from, in_reply_to, result }: Answer, wants: (trace: string) => boolean): void {
    const asked = this.#asked.get(in_reply_to);
    this.#asked.delete(in_reply_to);
    if (asked === undefined || !wants(asked.trace)) return;
    const { status, error, metrics } = result;
    const code = error !== null && isErrorCode(error.code) ? { code: error.code } : {};
    this.#actors.at(`${in_reply_to}.answer`, asked.at + metrics.duration_ms);
    this.#actors.receive(asked.by, `t${from}`, { type: `${asked.name}.${status}`, signal_id: in_reply_to, ...code });
  }
}

/** Returns the name of a Signal, written like that of an event: its command, the schema of its data, or its kind. */
function nameOf({ kind, body }: Signal): string {
  const name = kind === "command" ? body["action"] : kind === "data" ? body["schema"] : kind;
  return String(name)
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toUpperCase();
}
