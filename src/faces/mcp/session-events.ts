/**
 * The messages of one session's streams, which a client whose connection broke receives again: it names the last event
 * that it has (`Last-Event-ID`).
 *
 * 1.  They are bounded for each session and over all sessions of a handler: the oldest of the session are dropped.
 * 2.  An event that has been dropped, or that belongs to another session, is unknown.
 */
import type { EventStore, JSONRPCMessage, RequestId } from "@modelcontextprotocol/server";

/** The limits of what is kept: events and characters of a session, and characters over all sessions. */
export const keptEvents = { maxEvents: 1_000, maxChars: 5_000_000, maxCharsOfAll: 100_000_000 } as const;

/** The limits of what is kept, by name. */
export type KeptEvents = { readonly [K in keyof typeof keptEvents]: number };

interface Kept {
  readonly streamId: string;
  readonly message: JSONRPCMessage;
  readonly chars: number;
}

/** The characters that the sessions of one handler keep. */
export interface KeptSize {
  chars: number;
}

export class SessionEvents implements EventStore {
  readonly #ofAll: KeptSize;
  readonly #limits: KeptEvents;
  readonly #events = new Map<string, Kept>();
  #chars = 0;
  #count = 0;

  constructor(ofAll: KeptSize, limits: KeptEvents = keptEvents) {
    this.#ofAll = ofAll;
    this.#limits = limits;
  }

  /** Keeps a message and returns the id of its event. */
  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    this.#count += 1;
    const id = `${streamId}.${this.#count}`;
    const chars = JSON.stringify(message).length;
    this.#events.set(id, { streamId, message, chars });
    this.#add(chars);
    for (const oldest of this.#events.keys()) {
      if (!this.#isOver()) break;
      this.#drop(oldest);
    }
    return id;
  }

  /** Returns the stream of an event; undefined if the event is unknown. */
  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.get(id)?.streamId;
  }

  /** Sends the messages of the stream of this event that came after it. Returns the stream. */
  async replayEventsAfter(
    id: string,
    { send }: { readonly send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const streamId = this.#events.get(id)?.streamId ?? "";
    const later = [...this.#events].slice([...this.#events.keys()].indexOf(id) + 1);
    for (const [one, { streamId: stream, message }] of later) if (stream === streamId) await send(one, message);
    return streamId;
  }

  /** Returns the requests that the kept messages of an event's stream answer. */
  answeredIn(id: string): readonly RequestId[] {
    const streamId = this.#events.get(id)?.streamId;
    const answered: RequestId[] = [];
    for (const { streamId: stream, message } of this.#events.values())
      if (stream === streamId && ("result" in message || "error" in message) && message.id !== undefined)
        answered.push(message.id);
    return answered;
  }

  /** Drops all events. */
  clear(): void {
    for (const id of this.#events.keys()) this.#drop(id);
  }

  #isOver(): boolean {
    const { maxEvents, maxChars, maxCharsOfAll } = this.#limits;
    return this.#events.size > maxEvents || this.#chars > maxChars || this.#ofAll.chars > maxCharsOfAll;
  }

  #drop(id: string): void {
    this.#add(-(this.#events.get(id)?.chars ?? 0));
    this.#events.delete(id);
  }

  #add(chars: number): void {
    this.#chars += chars;
    this.#ofAll.chars += chars;
  }
}
