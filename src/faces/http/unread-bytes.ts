/**
 * The bytes that are held for clients who have not read them yet.
 *
 * Owns: the count of all callers and of each. Never: knows the content.
 * 1.  The bytes are bounded, of one caller and of all. Each may hold one thing, whatever its size.
 * 2.  A thing that several clients hold counts once, of one caller and of all.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { HttpCaller, HttpLimits } from "./http-options.ts";
import { nameOfCaller } from "./name-caller.ts";

/** A held thing: bytes, or an object that stands for a number of bytes. */
export interface Sized {
  readonly length: number;
}

export interface UnreadBytes {
  /**
   * Counts a thing until the returned function is called. @throws KernelErrorException T0_HTTP_UNREAD_LIMIT,
   * T0_HTTP_CALLER_UNREAD_LIMIT.
   */
  readonly hold: (caller: HttpCaller, thing: Sized) => () => void;
  /** Returns the bytes that are held now. */
  readonly bytes: () => number;
  /** Returns the number of callers that hold something now. */
  readonly callers: () => number;
}

/** A limit by its name, and its bytes. */
export type ByteLimit = readonly [name: keyof HttpLimits, most: number];

const unreadRef = moduleRef(0, "http", "unread_bytes");

export function createUnreadBytes(ofAll: ByteLimit, ofCaller: ByteLimit): UnreadBytes {
  const all = new Held();
  const byCaller = new Map<string, Held>();
  const free = (name: string, thing: Sized): void => {
    all.remove(thing);
    const own = byCaller.get(name);
    own?.remove(thing);
    if (own?.bytes === 0) byCaller.delete(name);
  };
  return {
    bytes: () => all.bytes,
    callers: () => byCaller.size,
    hold(caller, thing) {
      const name = nameOfCaller(caller);
      const own = byCaller.get(name) ?? new Held();
      if (!own.hasRoom(thing, ofCaller[1])) refuse("T0_HTTP_CALLER_UNREAD_LIMIT", ofCaller);
      if (!all.hasRoom(thing, ofAll[1])) refuse("T0_HTTP_UNREAD_LIMIT", ofAll);
      all.add(thing);
      own.add(thing);
      byCaller.set(name, own);
      let isFree = false;
      return () => {
        if (!isFree) free(name, thing);
        isFree = true;
      };
    },
  };
}

/** The held things, each with its number of holders. */
class Held {
  readonly #holders = new Map<Sized, number>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  hasRoom(thing: Sized, most: number): boolean {
    return this.#bytes === 0 || this.#holders.has(thing) || this.#bytes + thing.length <= most;
  }

  add(thing: Sized): void {
    const holders = this.#holders.get(thing) ?? 0;
    if (holders === 0) this.#bytes += thing.length;
    this.#holders.set(thing, holders + 1);
  }

  remove(thing: Sized): void {
    const left = (this.#holders.get(thing) ?? 0) - 1;
    if (left > 0) this.#holders.set(thing, left);
    else if (this.#holders.delete(thing)) this.#bytes -= thing.length;
  }
}

function refuse(code: "T0_HTTP_UNREAD_LIMIT" | "T0_HTTP_CALLER_UNREAD_LIMIT", [name, most]: ByteLimit): never {
  const whose = code === "T0_HTTP_UNREAD_LIMIT" ? "clients hold" : "clients of this caller hold";
  const message = `${whose} limits.${name} = ${most} bytes unread`;
  return raise(kernelError(code, message, unreadRef, { detail: { [name]: most } }));
}
